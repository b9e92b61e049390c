#include "cli/evaluate.h"

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "cli/compose.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/estimator/checkpoint.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

// How often --watch looks for a new checkpoint.
constexpr std::chrono::milliseconds kWatchPeriod(500);

Json ResultJson(const Evaluation& evaluation) {
  Json json;
  json["global_step"] = evaluation.global_step;
  json["checkpoint"] = evaluation.checkpoint.has_value() ? Json(*evaluation.checkpoint) : Json();
  json["examples"] = evaluation.examples;
  for (const auto& [name, value] : evaluation.metrics) {
    json[name] = JsonNested(value.dims, [&values = value.values](int64_t i) {
      return JsonNumber(values[static_cast<size_t>(i)]);
    });
  }
  return json;
}

// Evaluates every new latest checkpoint, until one has train.max_steps (or for ever).
absl::Status Watch(const std::string& model_dir, const proto::Train& train,
                   const proto::Evaluate& evaluation, const InputFn& input_fn,
                   Estimator& estimator) {
  for (std::optional<std::string> done;; std::this_thread::sleep_for(kWatchPeriod)) {
    ASSIGN_OR_RETURN(const std::optional<std::string> latest, LatestCheckpoint(model_dir));
    if (!latest.has_value() || latest == done) continue;
    const absl::StatusOr<Evaluation> result = estimator.Evaluate(input_fn, evaluation, *latest);
    // Training has just dropped it.
    if (!result.ok() && IsAbsent(BundleIndexPath(*latest))) continue;
    RETURN_IF_ERROR(result.status());
    RETURN_IF_ERROR(WriteResult(ResultJson(*result)));
    if (train.has_max_steps() && result->global_step >= train.max_steps()) {
      return absl::OkStatus();
    }
    done = latest;
  }
}

}  // namespace

absl::Status EvaluateCommand(const CommandLine& command) {
  RequiredParts required{.evaluate = true};
  if (command.Has("name")) required.evaluation = command.GetString("name");
  ASSIGN_OR_RETURN(Composition composition, Compose(command, required));
  proto::Evaluate evaluation = composition.evaluation;
  if (command.Has("steps")) evaluation.set_steps(command.GetInt("steps"));
  const std::string checkpoint = command.GetString("checkpoint");
  const proto::RunConfig config = composition.options.config;
  ProgressLine line(command, false);
  composition.options.counted = line.Counter("examples");
  Estimator estimator(std::move(composition.options));
  if (command.GetBool("watch")) {
    if (!checkpoint.empty()) {
      return absl::InvalidArgumentError("--watch follows model_dir; leave out --checkpoint");
    }
    return Watch(config.model_dir(), config.train(), evaluation, composition.input_fn, estimator);
  }
  if (!checkpoint.empty() && DirName(checkpoint) != config.model_dir()) {
    LOG(INFO) << "The evaluation's events go to model_dir, " << config.model_dir() << ".";
  }
  ASSIGN_OR_RETURN(const Evaluation result,
                   estimator.Evaluate(composition.input_fn, evaluation, checkpoint));
  return WriteResult(ResultJson(result));
}

}  // namespace tpurun
