#include "runtime/estimator/evaluator.h"

#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/eval_events.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/setup.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"
#include "runtime/optimizers/moving_average.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/session/infeed.h"
#include "runtime/session/outfeed.h"

namespace tpurun {
namespace {

std::string EventsDir(const std::string& model_dir, const std::string& name) {
  return JoinPath(model_dir, name.empty() ? "eval" : absl::StrCat("eval_", name));
}

std::string DumpName(const std::string& name) {
  return name.empty() ? "evaluate" : absl::StrCat("evaluate_", name);
}

// Runs the batches through the device. Adds the totals to `sums` and *examples.
absl::Status RunAll(const EstimatorOptions& options, Session& session, Infeed& infeed,
                    int64_t max_steps, EvalSums& sums, int64_t* examples) {
  Outfeed outfeed(session.program(), [&](int64_t step, const std::byte* slots) {
    sums.Add(slots);
    *examples += infeed.TakeRows();
    if (options.on_examples) options.on_examples(*examples);
    return absl::OkStatus();
  });
  infeed.Start();
  const RunResult result = session.RunLoop(
      {.iterations = max_steps, .fabric = options.fabric, .interrupt = options.interrupt}, infeed,
      &outfeed);
  RETURN_IF_ERROR(outfeed.Finish());
  if (result.interrupted) {
    return absl::CancelledError(absl::StrCat("interrupted after batch ", result.steps));
  }
  const bool ended = absl::IsOutOfRange(result.status) && infeed.ended();
  return ended ? absl::OkStatus() : result.status;
}

tensorflow::Summary SummaryOf(const Evaluation& evaluation) {
  tensorflow::Summary summary;
  for (const auto& [name, value] : evaluation.metrics) {
    if (value.is_number()) {
      AddScalar(name, static_cast<float>(value.values[0]), &summary);
    } else {
      AddArray(name, value.dims, value.values, &summary);
    }
  }
  if (evaluation.checkpoint.has_value()) {
    AddString(kCheckpointPath, *evaluation.checkpoint, &summary);
  }
  return summary;
}

// Formats a number with the digits of a float, an array as nested lists of such numbers, and a
// large array as its dimensions.
std::string LogText(const MetricValue& value) {
  // NumPy prints as many numbers.
  constexpr size_t kMostNumbers = 1000;
  if (value.values.size() > kMostNumbers) {
    return absl::StrCat(absl::StrJoin(value.dims, "x"), " numbers");
  }
  std::string text;
  for (size_t i = 0; i < value.values.size(); ++i) {
    std::string begin, end;
    size_t block = 1;
    for (auto dim = value.dims.rbegin(); dim != value.dims.rend(); ++dim) {
      block *= static_cast<size_t>(*dim);
      if (i % block == 0) begin += "[";
      if ((i + 1) % block == 0) end += "]";
    }
    absl::StrAppend(&text, i == 0 ? "" : ", ", begin,
                    ShortestText(static_cast<float>(value.values[i])), end);
  }
  return text;
}

void LogResult(const Evaluation& evaluation) {
  std::map<std::string, std::string> texts = {
      {"global_step", absl::StrCat(evaluation.global_step)}};
  for (const auto& [name, value] : evaluation.metrics) texts[name] = LogText(value);
  const std::string text = absl::StrJoin(texts, ", ", absl::PairFormatter(" = "));
  LOG(INFO) << "Saving dict for global step " << evaluation.global_step << ": " << text;
}

}  // namespace

Evaluator::Evaluator(EstimatorOptions options)
    : options_(OptionsOfEvaluation(std::move(options))),
      session_(options_.num_workers, options_.topology) {}

absl::Status Evaluator::Build() {
  const int64_t batch = options_.config.eval_batch_size();
  ASSIGN_OR_RETURN(EstimatorSpec spec, CallModelFn(options_, ModeKey::kEval, batch, true));
  ASSIGN_OR_RETURN(step_, BuildEvalStep(std::move(spec), DeploymentOf(options_, ModeKey::kEval)));
  return absl::OkStatus();
}

absl::Status Evaluator::Load(const std::optional<Checkpoint>& checkpoint) {
  RETURN_IF_ERROR(session_.Load(step_->graph, MakeCompileOptions(options_)));
  return SetVariables(options_, checkpoint, false, step_->graph.variables(), session_);
}

absl::Status Evaluator::Share(const VariableStore& trained) {
  for (const Variable& variable : step_->graph.variables()) {
    if (variable.scope == Variable::Scope::kState) continue;
    const StoredVariable* const theirs =
        trained.Find(EvaluatedName(options_.config.model(), variable));
    if (theirs == nullptr) {
      return absl::InternalError(
          absl::StrCat("variable ", Quote(variable.name), " is not trained"));
    }
    RETURN_IF_ERROR(session_.variables().Share(variable.name, *theirs));
  }
  return session_.Load(step_->graph, MakeCompileOptions(options_));
}

std::vector<std::string> Evaluator::Numbers() const {
  std::vector<std::string> names;
  for (const EvalMetric& metric : step_->metrics) {
    size_t sums = 0;
    for (const Value statistic : metric.statistics)
      sums += step_->graph.shape(statistic).row_elements();
    if (metric.result(std::vector<double>(sums)).is_number()) names.push_back(metric.name);
  }
  return names;
}

absl::StatusOr<InputSource> Evaluator::Open(const EvaluationInput& input,
                                            const EvalTarget& subject) const {
  if (input.write_events && IsChief(options_.fabric)) {
    RETURN_IF_ERROR(CheckWritable(EventsDir(options_.config.model_dir(), input.evaluate.name())));
  }
  ASSIGN_OR_RETURN(InputSource opened,
                   CallInputFn(input.input_fn, DeploymentOf(options_, ModeKey::kEval),
                               {.mode = ModeKey::kEval,
                                .features = options_.features,
                                .seed = options_.config.tf_random_seed(),
                                .trained = subject.trained}));
  RETURN_IF_ERROR(CheckEnds(opened, input.evaluate));
  return opened;
}

absl::Status Evaluator::Check(const EvaluationInput& input, const EvalTarget& subject) {
  ASSIGN_OR_RETURN(const InputSource opened, Open(input, subject));
  if (!opened.reads_once) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the evaluation's input is a pipe, which can be read only once, and train_and_evaluate "
      "evaluates again and again; want files");
}

absl::StatusOr<Evaluator::Feed> Evaluator::OpenFeed(const EvaluationInput& input,
                                                    const EvalTarget& subject) const {
  const proto::Evaluate& evaluate = input.evaluate;
  ASSIGN_OR_RETURN(InputSource opened, Open(input, subject));
  Feed feed;
  if (options_.fabric != nullptr)
    feed.likenesses = LikenessesOf(session_, opened.files, opened.assets);
  ASSIGN_OR_RETURN(feed.infeed,
                   CreateInfeed(options_, ModeKey::kEval, DumpName(evaluate.name()), 1, opened,
                                session_.program(),
                                {.num_batches = evaluate.has_steps() ? evaluate.steps() : -1,
                                 .pad = true,
                                 .ended_message = [](int64_t) { return "the input ended"; },
                                 .classes = ClassesOf(step_->graph)}));
  return feed;
}

absl::StatusOr<Evaluation> Evaluator::Run(const EvaluationInput& input, const EvalTarget& subject) {
  const proto::Evaluate& evaluate = input.evaluate;
  absl::StatusOr<Feed> opened = OpenFeed(input, subject);
  RETURN_IF_ERROR(FirstErrorOfProcesses(options_.fabric, opened.status()));
  RETURN_IF_ERROR(CheckAlike(options_.fabric, opened->likenesses));
  const InfeedPtr infeed = std::move(opened->infeed);
  Evaluation result = {.name = evaluate.name(),
                       .global_step = subject.global_step,
                       .checkpoint = subject.checkpoint};
  EvalSums sums(*step_);
  const int64_t max_steps =
      evaluate.has_steps() ? evaluate.steps() : std::numeric_limits<int64_t>::max();
  LOG(INFO) << "Starting evaluation"
            << (evaluate.name().empty() ? "." : absl::StrCat(" ", Quote(evaluate.name()), "."));
  session_.variables().ClearState();
  RETURN_IF_ERROR(RunAll(options_, session_, *infeed, max_steps, sums, &result.examples));
  if (infeed->ended() && evaluate.has_steps()) {
    LOG(WARNING) << "The input ended before " << evaluate.steps() << " steps: " << result.examples
                 << " examples were evaluated.";
  }
  ASSIGN_OR_RETURN(result.metrics, sums.Results());
  result.class_names = step_->class_names;
  if (step_->metrics.front().name == "loss") result.loss_shard_0 = sums.loss_shard_0();
  LogResult(result);
  if (!input.write_events || !IsChief(options_.fabric)) return result;
  RETURN_IF_ERROR(WriteEvaluation(EventsDir(options_.config.model_dir(), evaluate.name()),
                                  result.global_step, SummaryOf(result)));
  return result;
}

}  // namespace tpurun
