#include "runtime/estimator/train_program.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/sequence_lengths.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/train_step.h"
#include "runtime/io/file.h"

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

// Summaries that have no period of their own have that of the configuration.
void SetPeriods(const proto::RunConfig& config, EstimatorSpec* spec) {
  for (TrainSummary& summary : spec->summaries) {
    if (summary.every_n_steps == 0) summary.every_n_steps = config.save_summary_steps();
  }
}

// `folder`: of the artefacts, in options.dump_dir.
CompileOptions CompileOptionsOfStep(EstimatorOptions options, const std::string& folder) {
  if (!options.dump_dir.empty() && !folder.empty())
    options.dump_dir = JoinPath(options.dump_dir, folder);
  CompileOptions compile = MakeCompileOptions(options);
  compile.loss_output = kLossOutput;
  return compile;
}

void MarkPerCore(const std::vector<Variable>& compiled, Graph* graph) {
  for (const Variable& variable : compiled) {
    if (variable.per_core) graph->SetPerCore(graph->FindVariable(variable.name));
  }
}

// Compiles the step for sequences of the other lengths that batches have.
absl::Status AddShorterSteps(const EstimatorOptions& options, TrainProgram* program) {
  for (const int64_t length : ShorterLengths(options)) {
    ASSIGN_OR_RETURN(EstimatorSpec spec,
                     CallModelFnOfLength(options, length, program->model_variables));
    SetPeriods(options.config, &spec);
    ASSIGN_OR_RETURN(Graph graph, BuildTrainStep(std::move(spec)));
    const absl::Status loaded = program->session.LoadForBucket(
        graph, CompileOptionsOfStep(options, absl::StrCat("length_", length)));
    RETURN_IF_ERROR(Annotate(loaded, PlaceOfLength(options, length)));
    MarkPerCore(program->session.program().variables, &graph);
    program->graphs_of_buckets.push_back(std::move(graph));
  }
  if (options.train.buckets.has_value()) {
    LOG(INFO) << "The step is compiled for sequences of "
              << absl::StrJoin(options.train.buckets->lengths, ", ") << ".";
  }
  return absl::OkStatus();
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
  SetPeriods(config, &spec);
  summaries = spec.summaries;
  ASSIGN_OR_RETURN(projector, Projector::Read(spec.embeddings, spec.graph));
  model_variables = spec.graph.variables();
  LogModel(spec.graph);
  ASSIGN_OR_RETURN(graph, BuildTrainStep(std::move(spec)));
  RETURN_IF_ERROR(session.Load(graph, CompileOptionsOfStep(options, "")));
  MarkPerCore(session.program().variables, &graph);
  RETURN_IF_ERROR(AddShorterSteps(options, this));
  RETURN_IF_ERROR(SetVariables(options, resumed, true, model_variables, session));
  if (!resumed.has_value()) return absl::OkStatus();
  return WarnOfDrift(options, *resumed, ModeKey::kTrain);
}

}  // namespace tpurun
