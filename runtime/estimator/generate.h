// Text by a model of sequences: the state of one generation, on the host.
#ifndef TPURUN_RUNTIME_ESTIMATOR_GENERATE_H_
#define TPURUN_RUNTIME_ESTIMATOR_GENERATE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct Sampling {
  double temperature = 1;  // divides the logits; 0: the largest is taken
  int64_t top_k = 0;       // only the k largest are drawn from, of equal ones the first; 0: all
  int64_t seed = 1;
};

// Draws an id in [0, logits.size()) with the probabilities softmax(logits / temperature). Draw
// number `index` of a seed is a function of both and the logits. Aborted when a logit is NaN.
absl::StatusOr<int64_t> SampleId(std::span<const float> logits, const Sampling& sampling,
                                 int64_t index);

// The ids of a text that grows at its end: what generation feeds to the device and takes back. The
// infeed's thread waits in Get for what the outfeed's thread appends.
class GrowingText {
 public:
  explicit GrowingText(const std::vector<int64_t>& start) : ids_(start.begin(), start.end()) {}

  void Append(int64_t id);
  // From now on Get finds nothing.
  void Close();
  // The ids [begin, end), none of them forgotten; waits until there are that many. Empty once
  // closed.
  std::vector<int64_t> Get(int64_t begin, int64_t end);
  // The ids before `begin` are not asked for any more.
  void Forget(int64_t begin);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int64_t> ids_;  // of the characters from forgotten_ on
  int64_t forgotten_ = 0;
  bool closed_ = false;
};

// Which character of a text each step reads last.
struct ReadingOrder {
  int64_t first = 0;  // of step 0
  // A state that holds so many positions begins anew behind them, with the later half of what it
  // has read; 0: it holds any number.
  int64_t positions = 0;

  int64_t Last(int64_t step) const;
  // The first of those that this step and the later ones read last.
  int64_t First(int64_t step) const;
  // Whether an earlier step has read it.
  bool IsAgain(int64_t step) const;
};

// Batches of one row each, of the one feature `feature`, whose shape is (window): batch k is made
// of the text up to the character that step k reads last. Of `window` characters the last ones,
// followed by 0 where there are fewer. `text` must outlive it, and forgets what no batch will hold.
class GeneratedWindows : public BatchSource {
 public:
  GeneratedWindows(GrowingText& text, const FeatureSpec& feature, const ReadingOrder& order);

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override;
  std::string Position() const override { return ""; }
  absl::Status Restore(const std::string& position) override;
  std::string Where(int64_t row) const override { return "the text that is generated"; }

 private:
  GrowingText& text_;
  const DType dtype_;
  const int64_t window_;
  const ReadingOrder order_;
  int64_t step_ = 0;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_GENERATE_H_
