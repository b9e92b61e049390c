// Builds the step of a mode without running it, for `summary`, `check` and `profile`.
#ifndef TPURUN_RUNTIME_ESTIMATOR_STEP_GRAPH_H_
#define TPURUN_RUNTIME_ESTIMATOR_STEP_GRAPH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/train_step.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct StepGraph {
  Graph graph;  // before compilation; without summaries in training
  std::vector<BuiltLayer> layers;
  std::vector<int> trained;               // TRAIN: variables that the optimizers update
  std::vector<Variable> model_variables;  // without slots and counters of the training
};

// The errors that train, evaluate and predict report before they open a file. `train` is for
// TRAIN only, `predicts_labelled` for PREDICT: whether the input gives labels too.
absl::StatusOr<StepGraph> BuildStepGraph(const EstimatorOptions& options, ModeKey mode,
                                         const TrainStepOptions& train = {},
                                         bool predicts_labelled = false);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_STEP_GRAPH_H_
