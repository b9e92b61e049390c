#include "cli/evaluate.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
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
#include "runtime/estimator/processes.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

// How often --watch looks for a new checkpoint.
constexpr std::chrono::milliseconds kWatchPeriod(500);

// The new latest checkpoints of a model_dir, one after the other.
class NewCheckpoints {
 public:
  // `timeout`: seconds, 0: it waits for ever.
  NewCheckpoints(std::string model_dir, int64_t timeout)
      : model_dir_(std::move(model_dir)), timeout_(timeout) {}

  // Waits for a latest checkpoint that is not Done. Empty if none has come for `timeout` seconds
  // since the last one was. NotFound when none has come at all.
  absl::StatusOr<std::string> Next() {
    for (;; std::this_thread::sleep_for(kWatchPeriod)) {
      ASSIGN_OR_RETURN(const std::optional<std::string> latest, LatestCheckpoint(model_dir_));
      if (latest.has_value() && latest != done_) return *latest;
      const std::chrono::duration<double> waited = Clock::now() - since_;
      if (timeout_ == 0 || waited.count() < static_cast<double>(timeout_)) continue;
      const std::string text =
          absl::StrCat("no new checkpoint in ", model_dir_, " for ", timeout_, " seconds");
      if (!done_.has_value()) return absl::NotFoundError(text + " (--timeout)");
      LOG(INFO) << "Ending: " << text << ".";
      return "";
    }
  }

  void Done(const std::string& checkpoint) {
    done_ = checkpoint;
    since_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::string model_dir_;
  const int64_t timeout_;
  std::optional<std::string> done_;
  Clock::time_point since_ = Clock::now();
};

// Evaluates every new latest checkpoint, until one has train.max_steps or no new one comes. The
// chief looks for them.
absl::Status Watch(NewCheckpoints& checkpoints, const proto::Train& train,
                   const std::vector<EvaluationInput>& evaluations, const OnEvaluation& on_result,
                   Estimator& estimator, Fabric* fabric) {
  while (true) {
    absl::StatusOr<std::string> next = "";
    if (IsChief(fabric)) next = checkpoints.Next();
    RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, next.status()));
    if (fabric != nullptr) {
      ASSIGN_OR_RETURN(next, fabric->BroadcastText(*next));
    }
    if (next->empty()) return absl::OkStatus();
    int64_t global_step = 0;
    const absl::Status evaluated =
        estimator.EvaluateAll(evaluations, *next, [&](const Evaluation& evaluation) {
          global_step = evaluation.global_step;
          return on_result(evaluation);
        });
    // The training may just have dropped it.
    bool dropped = IsDeletedCheckpoint(evaluated) && IsAbsent(BundleIndexPath(*next));
    if (fabric != nullptr && !fabric->lost()) {
      RETURN_IF_ERROR(fabric->Broadcast(&dropped, sizeof(dropped)));
      RETURN_IF_ERROR(fabric->Broadcast(&global_step, sizeof(global_step)));
    }
    if (dropped) {
      std::this_thread::sleep_for(kWatchPeriod);
      continue;
    }
    RETURN_IF_ERROR(evaluated);
    checkpoints.Done(*next);
    if (train.has_max_steps() && global_step >= train.max_steps()) return absl::OkStatus();
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
    NewCheckpoints checkpoints(config.model_dir(), timeout);
    return Watch(checkpoints, config.train(), evaluations, on_result, estimator, fabric.get());
  }
  const bool elsewhere = !checkpoint.empty() && checkpoint != kBestCheckpoint;
  if (elsewhere && DirName(checkpoint) != config.model_dir()) {
    LOG(INFO) << "The evaluation's events go to model_dir, " << config.model_dir() << ".";
  }
  return estimator.EvaluateAll(evaluations, checkpoint, on_result);
}

}  // namespace tpurun
