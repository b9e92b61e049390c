// The step of a mode as it is built, without running it: what `summary` looks at.
#ifndef TPURUN_RUNTIME_ESTIMATOR_STEP_GRAPH_H_
#define TPURUN_RUNTIME_ESTIMATOR_STEP_GRAPH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct StepGraph {
  Graph graph;  // before the compiler; in training without summaries
  std::vector<BuiltLayer> layers;
  std::vector<int> trained;  // TRAIN: variables that the optimizers are to update
};

// Errors are those that train, evaluate and predict have before they open a file.
absl::StatusOr<StepGraph> BuildStepGraph(const EstimatorOptions& options, ModeKey mode);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_STEP_GRAPH_H_
