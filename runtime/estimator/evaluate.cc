// Estimator::Evaluate: one exact pass over an input, metrics summed on the host.
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/eval_events.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/estimator/infeed.h"
#include "runtime/estimator/outfeed.h"
#include "runtime/estimator/session.h"
#include "runtime/estimator/setup.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

std::string EventsDir(const std::string& model_dir, const std::string& name) {
  return JoinPath(model_dir, name.empty() ? "eval" : absl::StrCat("eval_", name));
}

absl::StatusOr<InputSource> OpenInput(const EstimatorOptions& options, const InputFn& input_fn,
                                      const proto::Evaluate& evaluate,
                                      const std::optional<Checkpoint>& chosen) {
  ASSIGN_OR_RETURN(InputSource input, input_fn({.mode = ModeKey::kEval,
                                                .batch_size = options.config.eval_batch_size(),
                                                .features = options.features,
                                                .seed = options.config.tf_random_seed(),
                                                .trained_dir = TrainedDir(options, chosen)}));
  RETURN_IF_ERROR(CheckEnds(input, evaluate));
  return input;
}

// Runs the batches through the device; `sums` and *examples hold the totals then.
absl::Status RunAll(const EstimatorOptions& options, Session& session, Infeed& infeed,
                    int64_t max_steps, EvalSums& sums, int64_t* examples) {
  Outfeed outfeed(session.program(), [&](int64_t step, const std::byte* slots) {
    sums.Add(slots);
    *examples += infeed.RowsOf(step);
    if (options.counted) options.counted(*examples);
    return absl::OkStatus();
  });
  infeed.Start();
  const RunResult result =
      session.RunLoop({.iterations = max_steps, .interrupt = options.interrupt}, infeed, &outfeed);
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

// A number in a float's digits; an array as nested lists of such, of a large one the dimensions.
std::string LogText(const MetricValue& value) {
  // As many as NumPy prints.
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
  std::string text;
  for (const auto& [name, value] : evaluation.metrics) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " = ", LogText(value));
  }
  LOG(INFO) << "Saving dict for global step " << evaluation.global_step << ": " << text;
}

}  // namespace

absl::StatusOr<Evaluation> Estimator::Evaluate(const InputFn& input_fn,
                                               const proto::Evaluate& evaluate,
                                               const std::string& checkpoint) {
  const int64_t batch = options_.config.eval_batch_size();
  const std::string model_dir = options_.config.model_dir();
  const std::string events_dir = EventsDir(model_dir, evaluate.name());
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> chosen,
                   TrainedCheckpoint(options_, ModeKey::kEval, checkpoint));
  RETURN_IF_ERROR(CheckWritable(events_dir));
  ASSIGN_OR_RETURN(EstimatorSpec spec, CallModelFn(options_, ModeKey::kEval, batch, true));
  ASSIGN_OR_RETURN(const EvalStep step,
                   BuildEvalStep(std::move(spec), batch / options_.topology.num_replicas()));
  Session session(options_.num_workers, options_.topology);
  RETURN_IF_ERROR(session.Load(step.graph, MakeCompileOptions(options_)));
  RETURN_IF_ERROR(SetVariables(options_, chosen, false, step.graph.variables(), session));
  Evaluation result;
  if (chosen.has_value()) {
    RETURN_IF_ERROR(WarnOfDrift(options_, *chosen, ModeKey::kEval, evaluate.name()));
    result.checkpoint = chosen->prefix();
    ASSIGN_OR_RETURN(result.global_step, chosen->GlobalStep());
  }
  ASSIGN_OR_RETURN(InputSource input, OpenInput(options_, input_fn, evaluate, chosen));
  const int64_t max_steps =
      evaluate.has_steps() ? evaluate.steps() : std::numeric_limits<int64_t>::max();
  ASSIGN_OR_RETURN(const InfeedPtr infeed,
                   Infeed::Create(input.features, std::move(input.batches), session.program(),
                                  {.batch_size = batch,
                                   .num_batches = evaluate.has_steps() ? evaluate.steps() : -1,
                                   .pad = true,
                                   .ended_message = [](int64_t) { return "the input ended"; },
                                   .prefetch = input.prefetch,
                                   .classes = ClassesOf(step.graph)}));
  EvalSums sums(step);
  LOG(INFO) << "Starting evaluation.";
  RETURN_IF_ERROR(RunAll(options_, session, *infeed, max_steps, sums, &result.examples));
  if (infeed->ended() && evaluate.has_steps()) {
    LOG(WARNING) << "The input ended before " << evaluate.steps() << " steps: " << result.examples
                 << " examples were evaluated.";
  }
  result.metrics = sums.Results();
  LogResult(result);
  RETURN_IF_ERROR(WriteEvaluation(events_dir, result.global_step, SummaryOf(result)));
  return result;
}

}  // namespace tpurun
