#include "runtime/estimator/step_graph.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/estimator/prediction_bytes.h"
#include "runtime/estimator/sequence_lengths.h"
#include "runtime/estimator/setup.h"

namespace tpurun {
namespace {

absl::StatusOr<Graph> GraphOfStep(const EstimatorOptions& options, EstimatorSpec spec,
                                  const TrainStepOptions& train) {
  if (spec.mode == ModeKey::kTrain) {
    spec.summaries.clear();
    return BuildTrainStep(std::move(spec), train);
  }
  if (spec.mode == ModeKey::kEval) {
    ASSIGN_OR_RETURN(EvalStep step,
                     BuildEvalStep(std::move(spec), DeploymentOf(options, ModeKey::kEval)));
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

absl::StatusOr<StepGraph> BuildStepGraph(const EstimatorOptions& of_run, ModeKey mode,
                                         const TrainStepOptions& train, bool predicts_labelled) {
  const EstimatorOptions options = mode == ModeKey::kEval ? OptionsOfEvaluation(of_run) : of_run;
  ASSIGN_OR_RETURN(EstimatorSpec spec, CallModelFn(options, mode, BatchSizeOf(options.config, mode),
                                                   mode != ModeKey::kPredict || predicts_labelled));
  StepGraph step;
  step.layers = spec.layers;
  step.model_variables = spec.graph.variables();
  if (mode == ModeKey::kTrain) RETURN_IF_ERROR(CheckLengths(options, step.model_variables));
  for (const OptimizerSpec& optimizer : spec.optimizers) {
    step.trained.insert(step.trained.end(), optimizer.variables.begin(), optimizer.variables.end());
  }
  ASSIGN_OR_RETURN(step.graph, GraphOfStep(options, std::move(spec), train));
  return step;
}

}  // namespace tpurun
