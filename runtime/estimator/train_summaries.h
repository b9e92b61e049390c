// The model's `summary` entries: what training feeds out of the device, and the events it becomes.
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

// What of a training step is no tensor of the model.
struct TrainStepValues {
  std::map<std::string, Value> gradients;       // by variable, summed over the replicas
  std::map<std::string, Value> learning_rates;  // by optimizer
};

// An output for what each summary is made of, at the steps that its period divides.
void AddSummaries(GraphBuilder& b, const std::vector<TrainSummary>& summaries,
                  const TrainStepValues& values);

// Makes events of what the outputs of AddSummaries feed out. One thread at a time.
class TrainSummaries {
 public:
  // `graph` has those outputs and marks its per-core variables, `program` was made of it; what the
  // first `counted_replicas` feed out is looked at.
  TrainSummaries(std::vector<TrainSummary> summaries, const Graph& graph,
                 const CoreProgram& program, int counted_replicas);

  // Before the first Write; `events`, in `dir`, outlives this. What a killed run wrote of
  // `first_step`, the step of its checkpoint, is not written again.
  absl::Status Open(const FilePath& dir, int64_t first_step, EventWriter* events);

  // `slots` are of the step that began at `global_step`: writes an event of that step with the
  // summaries that are due then. A scalar is the mean over those cores, a histogram counts the
  // values of all of them, images are of the first core's first rows.
  absl::Status Write(int64_t global_step, const std::byte* slots);

 private:
  struct Slot {
    int64_t offset = 0;         // in an entry
    int64_t replica_bytes = 0;  // from one replica's share to the next's
    Shape shape;                // of a share
    int copies = 1;             // shares that may differ
  };

  absl::Status Add(size_t index, const std::byte* slots, tensorflow::Summary* to);
  double Mean(const Slot& slot, const std::byte* slots) const;
  tensorflow::HistogramProto Histogram(const Slot& counts, const Slot& statistics,
                                       const TrainSummary& summary, const std::byte* slots);

  const std::vector<TrainSummary> summaries_;
  std::map<std::string, Slot> slots_;
  EventWriter* events_ = nullptr;
  int64_t first_step_ = 0;
  std::set<std::string> written_;  // tags that are there at first_step_
  std::set<std::string> warned_;   // tags
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_SUMMARIES_H_
