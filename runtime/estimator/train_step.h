// BuildTrainStep: makes the graph of one training step from the model's loss.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The name of the output with the loss of each core, unscaled.
inline constexpr char kLossOutput[] = "loss";

struct TrainStepOptions {
  bool keep_gradients = false;  // see BuildTrainStep
  // Whole gradients of tables are summed over the cores, as TPUEstimator does.
  bool dense_gradients = false;
};

// Appends to the model's graph: gradients, their sums over the cores, the updates of the optimizers
// and of the moving averages, global_step + 1, and outputs for the summaries. InvalidArgument if
// the loss does not depend on any trainable variable.
//
// With `keep_gradients` the graph has two more variables for each that an optimizer updates, with
// its shape, f32. After a step they have its gradient as the optimizer gets it (clipped, summed
// over the replicas), and 1 or 0 for each element: whether the gradient of the loss times 2^64 is
// not 0 there, neither clipped nor NaN. All other values have the bits that they have without.
absl::StatusOr<Graph> BuildTrainStep(EstimatorSpec spec, const TrainStepOptions& options = {});

// The names of these two variables.
std::string KeptGradientName(const std::string& variable);
std::string KeptNonzeroName(const std::string& variable);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_STEP_H_
