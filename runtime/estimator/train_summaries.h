// The model's `summary` entries: adds their outputs to the training step and writes their values as
// events.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_SUMMARIES_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_SUMMARIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/io/event_writer.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/program/core_program.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Values of a training step that are not tensors of the model.
struct TrainStepValues {
  std::map<std::string, Value> gradients;       // by variable name, summed over the replicas
  std::map<std::string, Value> learning_rates;  // by optimizer name
};

// Adds the outputs that each summary needs, at the steps that its period divides.
void AddSummaries(GraphBuilder& b, const std::vector<TrainSummary>& summaries,
                  const TrainStepValues& values);

// Writes events from the values of the outputs of AddSummaries. Used by one thread at a time.
class TrainSummaries {
 public:
  // `graph` has those outputs and marks its per-core variables. `program` was compiled from it. The
  // values of the first `counted_replicas` replicas are used.
  TrainSummaries(std::vector<TrainSummary> summaries, const Graph& graph,
                 const CoreProgram& program, int counted_replicas);

  // To be called before the first Write. `events`, in `dir`, must outlive the object. Summaries
  // that a killed run wrote for `first_step`, the step of its checkpoint, are not written again.
  absl::Status Open(const FilePath& dir, int64_t first_step, EventWriter* events);

  // `slots` belong to the step that began at `global_step`. Writes an event of that step with the
  // summaries that are due. A scalar is the mean over those replicas. A histogram counts the values
  // of all of them. Images are the first rows of the first replica.
  absl::Status Write(int64_t global_step, const std::byte* slots);

 private:
  struct Slot {
    int64_t offset = 0;         // bytes from the start of an entry
    int64_t replica_bytes = 0;  // bytes from one replica's share to the next share
    Shape shape;                // shape of one share
    int copies = 1;             // number of shares that may differ
  };

  absl::Status Add(size_t index, const std::byte* slots, tensorflow::Summary* to);
  double Mean(const Slot& slot, const std::byte* slots) const;
  tensorflow::HistogramProto Histogram(const Slot& counts, const Slot& statistics,
                                       const TrainSummary& summary, const std::byte* slots);

  const std::vector<TrainSummary> summaries_;
  std::map<std::string, Slot> slots_;
  EventWriter* events_ = nullptr;
  int64_t first_step_ = 0;
  std::set<std::string> written_;  // tags of summaries that exist at first_step_
  std::set<std::string> warned_;   // tags of histograms that were warned about
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_SUMMARIES_H_
