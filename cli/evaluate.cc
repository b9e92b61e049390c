#include "cli/evaluate.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/compose.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "data/sources/source_list.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/best_checkpoint.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// How often --watch looks for a new checkpoint.
constexpr std::chrono::milliseconds kWatchPeriod(500);

// Evaluates every new latest checkpoint, until one has train.max_steps or none has come for
// `timeout` seconds (0: for ever). NotFound when none has come at all.
absl::Status Watch(const std::string& model_dir, const proto::Train& train, int64_t timeout,
                   const std::vector<EvaluationInput>& evaluations, const OnEvaluation& on_result,
                   Estimator& estimator) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point since = Clock::now();
  for (std::optional<std::string> done;; std::this_thread::sleep_for(kWatchPeriod)) {
    ASSIGN_OR_RETURN(const std::optional<std::string> latest, LatestCheckpoint(model_dir));
    if (!latest.has_value() || latest == done) {
      const std::chrono::duration<double> waited = Clock::now() - since;
      if (timeout == 0 || waited.count() < static_cast<double>(timeout)) continue;
      const std::string text =
          absl::StrCat("no new checkpoint in ", model_dir, " for ", timeout, " seconds");
      if (!done.has_value()) return absl::NotFoundError(text + " (--timeout)");
      LOG(INFO) << "Ending: " << text << ".";
      return absl::OkStatus();
    }
    int64_t global_step = 0;
    const absl::Status evaluated =
        estimator.EvaluateAll(evaluations, *latest, [&](const Evaluation& evaluation) {
          global_step = evaluation.global_step;
          return on_result(evaluation);
        });
    // Training has just dropped it.
    if (IsDeletedCheckpoint(evaluated)) continue;
    RETURN_IF_ERROR(evaluated);
    if (train.has_max_steps() && global_step >= train.max_steps()) return absl::OkStatus();
    done = latest;
    since = Clock::now();
  }
}

}  // namespace

absl::Status EvaluateCommand(const CommandLine& command) {
  RequiredParts required{.evaluate = true};
  if (command.Has("name")) required.evaluation = command.GetString("name");
  if (required.evaluation == kAllEvaluations) {
    required.evaluation.reset();
    required.all_evaluations = true;
  }
  if (command.Has("steps")) {
    required.evaluation_steps = command.GetInt("steps");
    if (*required.evaluation_steps <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--steps: got ", *required.evaluation_steps,
                       ", want a number > 0; leave it out for one exact pass over the examples"));
    }
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Fabric> fabric, JoinProcesses(command));
  ASSIGN_OR_RETURN(Composition composition, ComposeForProcesses(command, required, fabric.get()));
  std::vector<EvaluationInput>& evaluations = composition.evaluations;
  const std::string checkpoint = command.GetString("checkpoint");
  const bool watch = command.GetBool("watch");
  if (watch && fabric != nullptr) {
    return absl::UnimplementedError(
        "--watch evaluates in one process, but several were started; leave out --watch or mpirun");
  }
  const int64_t timeout = command.GetInt("timeout");
  if (watch && !checkpoint.empty()) {
    return absl::InvalidArgumentError("--watch follows model_dir; leave out --checkpoint");
  }
  if (command.Has("timeout") && !watch) {
    return absl::InvalidArgumentError("--timeout is for --watch, which is not given");
  }
  if (command.Has("timeout") && timeout <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--timeout: got ", timeout, ", want seconds > 0, or leave it out"));
  }
  for (const EvaluationInput& evaluation : evaluations) {
    if (!(watch || evaluations.size() > 1) || !ReadsOnce(evaluation.evaluate.input().source())) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "got \"-\", standard input, which can be read only once, and ",
        watch ? "--watch evaluates again and again" : "several evaluations would read it",
        "; want files"));
  }
  const proto::RunConfig config = composition.options.config;
  ProgressLine line(command, watch || evaluations.size() > 1);
  composition.options.on_examples = line.Counter("examples");
  Estimator estimator(std::move(composition.options));
  const auto on_result = [several = evaluations.size() > 1](const Evaluation& evaluation) {
    return WriteResult(EvaluationJson(evaluation, several));
  };
  if (watch) {
    return Watch(config.model_dir(), config.train(), timeout, evaluations, on_result, estimator);
  }
  const bool elsewhere = !checkpoint.empty() && checkpoint != kBestCheckpoint;
  if (elsewhere && DirName(checkpoint) != config.model_dir()) {
    LOG(INFO) << "The evaluation's events go to model_dir, " << config.model_dir() << ".";
  }
  return estimator.EvaluateAll(evaluations, checkpoint, on_result);
}

}  // namespace tpurun
