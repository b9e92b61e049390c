#include "runtime/estimator/train_program.h"

#include <utility>

#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/train_step.h"

namespace tpurun {
namespace {

void LogModel(const Graph& graph) {
  int64_t values = 0, trainable = 0;
  for (const Variable& variable : graph.variables()) {
    if (!variable.trainable) continue;
    ++trainable;
    values += variable.shape.num_elements();
  }
  LOG(INFO) << "Model " << Quote(graph.name()) << ": " << values << " trainable values in "
            << trainable << " variables.";
}

}  // namespace

TrainProgram::TrainProgram(const EstimatorOptions& options)
    : session(options.num_workers, options.topology) {}

absl::Status TrainProgram::Build(const EstimatorOptions& options,
                                 const std::optional<Checkpoint>& resumed) {
  const proto::RunConfig& config = options.config;
  ASSIGN_OR_RETURN(EstimatorSpec spec,
                   CallModelFn(options, ModeKey::kTrain, config.train_batch_size(), true));
  ASSIGN_OR_RETURN(learning_rates, LearningRates::Create(spec.optimizers));
  for (TrainSummary& summary : spec.summaries) {
    if (summary.every_n_steps == 0) summary.every_n_steps = config.save_summary_steps();
  }
  summaries = spec.summaries;
  ASSIGN_OR_RETURN(projector, Projector::Read(spec.embeddings, spec.graph));
  model_variables = spec.graph.variables();
  LogModel(spec.graph);
  ASSIGN_OR_RETURN(graph, BuildTrainStep(std::move(spec)));
  CompileOptions compile = MakeCompileOptions(options);
  compile.loss_output = kLossOutput;
  RETURN_IF_ERROR(session.Load(graph, compile));
  for (const Variable& variable : session.program().variables) {
    if (variable.per_core) graph.SetPerCore(graph.FindVariable(variable.name));
  }
  RETURN_IF_ERROR(SetVariables(options, resumed, true, model_variables, session));
  if (!resumed.has_value()) return absl::OkStatus();
  return WarnOfDrift(options, *resumed, ModeKey::kTrain);
}

}  // namespace tpurun
