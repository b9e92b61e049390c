// The state of one text generation on the host, with a model of sequences.
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
  double temperature = 1;  // divides the logits; 0: the largest logit is taken
  int64_t top_k = 0;       // draw only from the k largest logits, the first of equal ones; 0: all
  int64_t seed = 1;
};

// Draws an id in [0, logits.size()) with the probabilities softmax(logits / temperature). The
// result is a function of the seed, `index` (the number of the draw) and the logits. Aborted if a
// logit is NaN.
absl::StatusOr<int64_t> SampleId(std::span<const float> logits, const Sampling& sampling,
                                 int64_t index);

// The ids of a text that grows at its end: generation feeds them to the device and appends the new
// ones. The infeed's thread waits in Get for ids that the outfeed's thread appends.
class GrowingText {
 public:
  explicit GrowingText(const std::vector<int64_t>& start) : ids_(start.begin(), start.end()) {}

  void Append(int64_t id);
  // After Close, Get returns nothing.
  void Close();
  // The ids [begin, end), none of which may have been forgotten. Waits until there are `end` ids.
  // Empty after Close.
  std::vector<int64_t> Get(int64_t begin, int64_t end);
  // Drops the ids before `begin`, which will not be requested any more.
  void Forget(int64_t begin);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int64_t> ids_;  // ids of the characters from forgotten_ on
  int64_t forgotten_ = 0;
  bool closed_ = false;
};

// The last character of the text that each step reads.
struct ReadingOrder {
  int64_t first = 0;  // the character of step 0
  // A state that holds `positions` positions starts again after the last one, with the later half
  // of the characters that it has read. 0: it holds any number.
  int64_t positions = 0;

  int64_t Last(int64_t step) const;
  // The first of the characters that this step and the later steps read last.
  int64_t First(int64_t step) const;
  // True if an earlier step has read the character.
  bool IsAgain(int64_t step) const;
};

// Batches of one row, with the one feature `feature` of shape (window). Batch k has the text up to
// the character that step k reads last: the last `window` characters, followed by zeros if there
// are fewer. `text` must outlive the object. Ids that no later batch needs are forgotten.
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
