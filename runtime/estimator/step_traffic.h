// What the processes of a training exchange in each step, without running it, for `summary`.
#ifndef TPURUN_RUNTIME_ESTIMATOR_STEP_TRAFFIC_H_
#define TPURUN_RUNTIME_ESTIMATOR_STEP_TRAFFIC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"
#include "runtime/fabric/rounds.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Names of what is exchanged.
inline constexpr char kGradientTraffic[] = "gradients";
// Of an embedding of which a step reads few rows: the ids, and the gradients of these rows.
inline constexpr char kRowTraffic[] = "rows of tables";
// Values of layers: the statistics of batch normalization, and their gradients.
inline constexpr char kStatisticsTraffic[] = "statistics of layers";
inline constexpr char kVoteTraffic[] = "loss and votes";

struct StepCollective {
  std::string of;  // one of the names above
  Collective collective;
};

// The collectives that each process calls in a step, in the order of its program. `graph` is
// StepGraph's of TRAIN, and options.topology has the processes, of which process 0 is compiled.
// Without what is not in every step: orders at the begin of a loop, summaries, checkpoints.
absl::StatusOr<std::vector<StepCollective>> CollectivesOfStep(const EstimatorOptions& options,
                                                              const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_STEP_TRAFFIC_H_
