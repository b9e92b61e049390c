// BuildTrainStep: makes the graph of one training step from the model's loss.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The name of the output with the loss of each core, unscaled.
inline constexpr char kLossOutput[] = "loss";

// Appends to the model's graph: gradients, their sums over the cores, the updates of the optimizers
// and of the moving averages, global_step + 1, and outputs for the summaries. InvalidArgument if
// the loss does not depend on any trainable variable.
absl::StatusOr<Graph> BuildTrainStep(EstimatorSpec spec);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_
