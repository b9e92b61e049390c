#include "runtime/estimator/step_graph.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/estimator/prediction_bytes.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/train_step.h"

namespace tpurun {
namespace {

absl::StatusOr<Graph> GraphOfStep(const EstimatorOptions& options, EstimatorSpec spec,
                                  int64_t batch_per_replica) {
  if (spec.mode == ModeKey::kTrain) {
    spec.summaries.clear();
    return BuildTrainStep(std::move(spec));
  }
  if (spec.mode == ModeKey::kEval) {
    ASSIGN_OR_RETURN(EvalStep step, BuildEvalStep(std::move(spec), batch_per_replica));
    return std::move(step.graph);
  }
  const auto& keys = options.config.predict().keys();
  const std::string where = options.where("predict.keys");
  ASSIGN_OR_RETURN(Graph graph,
                   BuildPredictStep(std::move(spec), {keys.begin(), keys.end()}, where));
  RETURN_IF_ERROR(CheckPredictionBytes(graph, where));
  return graph;
}

}  // namespace

int64_t BatchSizeOf(const proto::RunConfig& config, ModeKey mode) {
  switch (mode) {
    case ModeKey::kTrain:
      return config.train_batch_size();
    case ModeKey::kEval:
      return config.eval_batch_size();
    case ModeKey::kPredict:
      return config.predict_batch_size();
  }
  return 0;
}

absl::StatusOr<StepGraph> BuildStepGraph(const EstimatorOptions& options, ModeKey mode) {
  const int64_t batch = BatchSizeOf(options.config, mode);
  ASSIGN_OR_RETURN(EstimatorSpec spec,
                   CallModelFn(options, mode, batch, mode != ModeKey::kPredict));
  StepGraph step;
  step.layers = spec.layers;
  for (const OptimizerSpec& optimizer : spec.optimizers) {
    step.trained.insert(step.trained.end(), optimizer.variables.begin(), optimizer.variables.end());
  }
  ASSIGN_OR_RETURN(step.graph,
                   GraphOfStep(options, std::move(spec), batch / options.topology.num_replicas()));
  return step;
}

}  // namespace tpurun
