#include "cli/train.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/compose.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string ProgressText(const TrainProgress& progress) {
  const double left = static_cast<double>(progress.final_step - progress.step);
  return absl::StrFormat("step %d/%d  loss %s  %.0f examples/s  ETA %.0f s", progress.step,
                         progress.final_step, ShortestText(static_cast<float>(progress.loss)),
                         progress.examples_per_second, left / progress.steps_per_second);
}

Json CheckpointJson(const std::string& prefix) { return prefix.empty() ? Json() : Json(prefix); }

Json ResultJson(const TrainResult& result) {
  if (result.skipped) {
    return {{"skipped", true},
            {"global_step", result.global_step},
            {"checkpoint", CheckpointJson(result.checkpoint)}};
  }
  Json json = {{"global_step", result.global_step},
               {"loss", JsonNumber(static_cast<float>(result.loss))},
               {"loss_shard_0", JsonNumber(result.loss_shard_0)}};
  for (const auto& [tag, rate] : result.learning_rates) json[tag] = JsonNumber(rate);
  json["checkpoint"] = CheckpointJson(result.checkpoint);
  json["steps"] = result.steps;
  json["seconds"] = JsonNumber(static_cast<float>(result.seconds));
  json["examples_per_second"] = JsonNumber(static_cast<float>(result.examples_per_second));
  return json;
}

}  // namespace

absl::Status TrainCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(Composition composition, Compose(command, {.train = true}));
  composition.options.before_first_write = [] { InstallSignalHandlers(OnInterrupt::kFinishStep); };
  ProgressLine line(command, false);
  if (line.shown()) {
    composition.options.progress = [&line](const TrainProgress& progress) {
      line.Draw(ProgressText(progress));
    };
  }
  Estimator estimator(std::move(composition.options));
  ASSIGN_OR_RETURN(const TrainResult result, estimator.Train(composition.input_fn));
  return WriteResult(ResultJson(result));
}

}  // namespace tpurun
