// Infeed: the thread that fills the device's infeed ring with the batches of an input, and the
// memory of where each batch was in that input.
#ifndef TPURUN_RUNTIME_SESSION_INFEED_H_
#define TPURUN_RUNTIME_SESSION_INFEED_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/queues.h"
#include "runtime/ir/graph.h"
#include "runtime/program/core_program.h"
#include "runtime/session/infeed_dump.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct InfeedOptions {
  int64_t batch_size = 0;    // rows that the source gives of a batch
  int pipelines = 1;         // whose positions the source's is
  bool broadcast = false;    // to every replica all of them; else they share them in equal parts
  int64_t num_batches = -1;  // stop after so many; -1: at the end of the input
  // EVAL and PREDICT: a short last batch is filled up with zero rows. Otherwise it counts as the
  // end.
  bool pad = false;
  // Why the last batches are missing, for the status of an input that ended: batches so far ->
  // text.
  std::function<std::string(int64_t batches)> ended_message;
  int64_t prefetch = 0;  // batches prepared ahead besides those that any infeed's queue holds
  // ClassesOf the graph. A row with another class ends the input with DataLoss, and its batch does
  // not reach the device.
  std::map<std::string, int64_t> classes;
  // Slots that need no feature: the program does not read them.
  std::set<std::string> unread = {};
  std::chrono::seconds initial_sleep{0};  // before the first batch is taken
  // Is given each entry before the device is; its error ends the input.
  std::unique_ptr<InfeedDump> dump = nullptr;
};

// Of each infeed slot whose values some node reads as ids of classes or of a table's rows, how many
// of those there are: name of the slot -> C, for values in [0, C).
std::map<std::string, int64_t> ClassesOf(const Graph& graph);

class Infeed;

// Stops the infeed. One whose thread is stuck in a read that never returns (a silent pipe) is left
// to it for the rest of the process.
struct StopAndDelete {
  void operator()(Infeed* infeed) const;
};
using InfeedPtr = std::unique_ptr<Infeed, StopAndDelete>;

// Batches are numbered from 0 where the source stood.
class Infeed {
 public:
  // Each slot of the program is fed by the source's feature of its name (`features`, in order), and
  // row_weight by 1 for a row and 0 for padding. InvalidArgument when a slot has no feature, or one
  // of more ids than the program takes; ResourceExhausted when options.prefetch batches are more
  // than fit in memory.
  static absl::StatusOr<InfeedPtr> Create(const std::vector<FeatureSpec>& features,
                                          std::unique_ptr<BatchSource> source,
                                          const CoreProgram& program, InfeedOptions options);
  Infeed(const Infeed&) = delete;
  Infeed& operator=(const Infeed&) = delete;

  // The memory of the ring of a program's Infeed, without the batches that only options.prefetch
  // asks for.
  static double RingBytes(const CoreProgram& program);

  void Start();
  // Closes the ring and joins the thread; false when that is stuck.
  bool Stop();

  EntryRing& ring() { return ring_; }
  // Blocks until the first batch is there; the source's error, or that it has none. Cancelled when
  // `interrupt` (may be null) becomes non-zero.
  absl::Status WaitForFirst(const std::atomic<int>* interrupt);
  // Why the source gives no more batches: OutOfRange with the ended_message, or its error; the ring
  // then has this status too. OK while it goes on or is stopped.
  absl::Status input_status() const;
  bool ended() const { return absl::IsOutOfRange(input_status()); }

  // The source's position after the first `batches` batches, which the device must have taken and
  // not gone beyond; whatever was read ahead does not change it. Empty for a source without
  // positions.
  absl::StatusOr<std::string> PositionAfter(int64_t batches);
  // Stops; where the last row of that batch came from, empty when unknown.
  std::string WhereIs(int64_t batch);
  // Stops; the source, wherever it stands, or null where the thread is stuck in it. Of the rest
  // only WhereIs, which then knows nothing, may be called.
  std::unique_ptr<BatchSource> TakeSource();
  // EVAL and PREDICT: rows of the next batch that was filled, without padding. Once a batch.
  int64_t TakeRows();
  // EVAL and PREDICT: what the source forwards of the next batch, in their order, each once.
  std::vector<HostFeature> TakeForwarded();

 private:
  struct Feed {
    int slot;  // index in the ring's entry
    int64_t row_bytes;
  };
  struct ClassIds {
    std::string title;  // `label "digit"`
    std::string noun;   // "a class"
    int slot;
    DType dtype;
    int64_t row_elements;
    int64_t classes;
  };
  struct Mark {
    int64_t batches;  // after so many
    std::string position;
  };

  Infeed(std::unique_ptr<BatchSource> source, const SlotLayout& layout, int num_replicas,
         InfeedOptions options);
  void Run();
  // Ends early when the infeed is stopped.
  void Sleep();
  // Takes batches until their number, the end or an error of the input (returned), or a closed
  // ring.
  absl::Status FillAll();
  // Fills one entry; false at the end of the input.
  absl::StatusOr<bool> Fill(std::byte* entry, int64_t batch);
  // DataLoss for the first row that has a class outside its range. source_mutex_ is held.
  absl::Status CheckClasses(const std::byte* entry, int64_t rows) const;
  void PadRows(std::byte* entry, int64_t rows) const;
  // Gives all replicas what the first has.
  void Broadcast(std::byte* entry) const;
  // Notes where the source stands, after so many batches. source_mutex_ is held.
  void RememberPosition(int64_t batches);
  // The nearest mark that is not beyond `batches`.
  absl::StatusOr<Mark> MarkBefore(int64_t batches) const;
  // Moves the source to just after `batches` batches. source_mutex_ is held.
  absl::Status MoveTo(int64_t batches);

  const InfeedOptions options_;
  const SlotLayout layout_;
  const int num_replicas_;
  std::vector<Feed> feeds_;  // in the order of the source's features
  std::vector<ClassIds> class_ids_;
  int weight_slot_ = -1;
  EntryRing ring_;
  const int64_t block_;
  std::atomic<bool> stopping_{false};  // set with mutex_ held
  std::thread thread_;
  bool stuck_ = false;  // the thread was left behind

  // Held while the source is used; a pipe may keep it for long.
  std::mutex source_mutex_;
  std::unique_ptr<BatchSource> source_;
  int64_t source_after_ = 0;     // the source stands after so many batches; -1: it failed or ended
  absl::Status source_lost_;     // why it could not be brought back to where it was
  bool long_positions_ = false;  // they are then noted once a block, not after each batch

  mutable std::mutex mutex_;         // guards what follows; never held for long
  std::condition_variable changed_;  // finished_ or stopping_
  absl::Status input_status_;
  bool finished_ = false;                           // the thread takes no more
  std::deque<Mark> marks_;                          // rising; from the block that the device is in
  std::deque<int32_t> rows_;                        // of batches not taken yet, when padding
  std::deque<std::vector<HostFeature>> forwarded_;  // of those not taken yet, when padding
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_INFEED_H_
