// BuildTrainStep: from the model's loss to the graph of one training step.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The output of the loss of each core, unscaled.
inline constexpr char kLossOutput[] = "loss";

// Appends gradients, their sums over the cores, the optimizers' updates, those of moving averages,
// global_step + 1 and outputs for the summaries to the model's graph. InvalidArgument for a loss
// that no trainable variable reaches.
absl::StatusOr<Graph> BuildTrainStep(EstimatorSpec spec);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_
