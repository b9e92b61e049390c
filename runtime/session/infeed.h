// Infeed: the thread that fills the device's infeed ring with the batches of an input. It also
// remembers the position of the input after each batch.
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
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/host_trace.h"
#include "runtime/device/queues.h"
#include "runtime/ir/graph.h"
#include "runtime/program/core_program.h"
#include "runtime/session/infeed_dump.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct InfeedOptions {
  int64_t batch_size = 0;    // rows of a batch of the source, all that BatchSource::Next counts
  RowRange rows = {};        // those of them that the source loads and that the replicas get
  int num_replicas = 0;      // that this process feeds; 0: all of the program
  int pipelines = 1;         // the source's position consists of as many positions
  bool broadcast = false;    // true: every replica gets all rows; else they share the rows equally
  int64_t num_batches = -1;  // stop after that many batches; -1: at the end of the input
  // EVAL and PREDICT: a short last batch is padded with zero rows. If false, a short batch counts
  // as the end.
  bool pad = false;
  // The message of the status for an input that ended early, given the number of batches so far.
  std::function<std::string(int64_t batches)> ended_message;
  int64_t prefetch = 0;  // batches prepared ahead, in addition to the queue of every infeed
  // ClassesOf the graph. A row with a value outside its range ends the input with DataLoss, and its
  // batch does not reach the device. The same for a weight that is not finite or below 0.
  std::map<std::string, int64_t> classes;
  // The slots of the programs for the buckets of the source's batches (BatchSource::bucket), like
  // those of the program but for the first dimension of rows, which may be smaller: of a batch as
  // much is cut off. Entries have their bucket as kind. Empty: all batches are for the program.
  std::vector<std::vector<InfeedSlot>> buckets = {};
  // Names of slots that need no feature, because the program does not read them.
  std::set<std::string> unread = {};
  std::chrono::seconds initial_sleep{0};  // sleep before the first batch is taken
  // Receives each entry before the device does. Its error ends the input. May be nullptr.
  std::unique_ptr<InfeedDump> dump = nullptr;
  // Receives a span of the lane kInfeed for each batch. May be nullptr.
  std::shared_ptr<HostTrace> trace = nullptr;
};

// The infeed slots whose values a node reads as ids of classes or of rows of a table: name of the
// slot -> C, for values in [0, C).
std::map<std::string, int64_t> ClassesOf(const Graph& graph);

class Infeed;

// Stops the infeed and deletes it. If its thread is blocked in a read that never returns (a silent
// pipe), the infeed is not deleted: the thread keeps it until the process ends.
struct StopAndDelete {
  void operator()(Infeed* infeed) const;
};
using InfeedPtr = std::unique_ptr<Infeed, StopAndDelete>;

// Batches are numbered from 0, which is the first batch after the source's position at Start.
class Infeed {
 public:
  // The source's feature of the same name feeds each slot of the program (`features` in the order
  // of the source). row_weight is fed with 1 for a row and 0 for padding. InvalidArgument if a slot
  // has no feature, or if the feature has more ids than the program accepts. ResourceExhausted if
  // options.prefetch batches do not fit in memory.
  static absl::StatusOr<InfeedPtr> Create(const std::vector<FeatureSpec>& features,
                                          std::unique_ptr<BatchSource> source,
                                          const CoreProgram& program, InfeedOptions options);
  Infeed(const Infeed&) = delete;
  Infeed& operator=(const Infeed&) = delete;

  // Bytes of the ring of a program's Infeed, without the batches for options.prefetch.
  static double RingBytes(const CoreProgram& program);

  void Start();
  // Closes the ring and joins the thread. Returns false if the thread is blocked in a read.
  bool Stop();

  EntryRing& ring() { return ring_; }
  // Blocks until the first batch is in the ring. Returns the source's error, or the status of an
  // input without batches. Cancelled if `interrupt` (may be nullptr) becomes non-zero.
  absl::Status WaitForFirst(const std::atomic<int>* interrupt);
  // The reason why there are no more batches: OutOfRange with the ended_message, or the source's
  // error. The ring then has the same status. OK while the infeed runs or after it was stopped.
  absl::Status input_status() const;
  bool ended() const { return absl::IsOutOfRange(input_status()); }

  // The source's position after the first `batches` batches. The device must have taken these
  // batches and no later one. Batches read ahead do not change the result. Empty if the source has
  // no positions.
  absl::StatusOr<std::string> PositionAfter(int64_t batches);
  // Stops the infeed. Returns the origin of the last row of batch `batch`, or empty if it is
  // unknown.
  std::string WhereIs(int64_t batch);
  // Stops the infeed and returns the source at its present position, or nullptr if the thread is
  // blocked in a read of it. Afterwards only WhereIs may be called, and it returns empty.
  std::unique_ptr<BatchSource> TakeSource();
  // EVAL and PREDICT: the number of rows of the next batch, without padding, those of other
  // processes included. To be called once per batch.
  int64_t TakeRows();
  // EVAL and PREDICT: the forwarded features of the same rows. Batches come in order, each once.
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
    std::optional<int64_t> ignored;
  };
  struct Weights {
    std::string title;  // `feature "weight"`
    int slot;
    DType dtype;
    int64_t row_elements;
  };
  struct Mark {
    int64_t batches;  // the position is the one after that many batches
    std::string position;
  };

  Infeed(std::unique_ptr<BatchSource> source, const SlotLayout& layout, int num_replicas,
         InfeedOptions options);
  void Run();
  // Sleeps for options.initial_sleep. Returns early if the infeed is stopped.
  void Sleep();
  // Fills entries until options.num_batches, the end or an error of the input (returned), or a
  // closed ring.
  absl::Status FillAll();
  // Fills one entry. Returns false at the end of the input.
  absl::StatusOr<bool> Fill(std::byte* entry, int64_t batch);
  // DataLoss for the first of the entry's `rows` rows with a value outside its range. source_mutex_
  // must be held.
  absl::Status CheckClasses(const std::byte* entry, int64_t rows) const;
  absl::Status CheckWeights(const std::byte* entry, int64_t rows) const;
  void PadRows(std::byte* entry, int64_t rows) const;
  // Copies the rows of the first replica to all others.
  void Broadcast(std::byte* entry) const;
  // Warns if what Cut leaves out of the entry's `rows` rows is not padding: the same value
  // throughout a row. source_mutex_ must be held.
  void CheckCut(const std::byte* entry, int64_t rows);
  // Makes an entry of the program an entry for the program of a bucket.
  void Cut(int bucket, std::byte* entry) const;
  // Records the source's position after `batches` batches. source_mutex_ must be held.
  void RememberPosition(int64_t batches);
  // The last mark that is not after `batches`.
  absl::StatusOr<Mark> MarkBefore(int64_t batches) const;
  // Moves the source to its position after `batches` batches. source_mutex_ must be held.
  absl::Status MoveTo(int64_t batches);

  const InfeedOptions options_;
  const int64_t entry_rows_;  // rows of an entry, without copies
  const SlotLayout layout_;
  const int num_replicas_;
  std::vector<SlotLayout> bucket_layouts_;  // [bucket]
  std::vector<Feed> feeds_;                 // in the order of the source's features
  std::vector<ClassIds> class_ids_;
  std::vector<Weights> weights_;
  int weight_slot_ = -1;
  EntryRing ring_;
  const int64_t block_;
  std::atomic<bool> stopping_{false};  // set with mutex_ held
  std::thread thread_;
  bool stuck_ = false;  // the thread was detached

  // Held while the source is used. A read from a pipe may hold it for long.
  std::mutex source_mutex_;
  std::unique_ptr<BatchSource> source_;
  int64_t source_after_ = 0;   // batches that the source has given; -1 after an error or the end
  absl::Status source_lost_;   // why the source could not be moved back
  std::optional<int> bucket_;  // of the batch that is being fed, if there are buckets
  bool warned_of_cut_ = false;
  // true: positions are recorded once per block, not after each batch
  bool long_positions_ = false;

  mutable std::mutex mutex_;         // guards the fields below; never held for long
  std::condition_variable changed_;  // notified when finished_ or stopping_ changes
  absl::Status input_status_;
  bool finished_ = false;     // the thread takes no more batches
  std::deque<Mark> marks_;    // ascending; from the device's present block on
  std::deque<int32_t> rows_;  // rows of the batches not taken yet, if padding
  // features of the batches not taken yet, if padding
  std::deque<std::vector<HostFeature>> forwarded_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_INFEED_H_
