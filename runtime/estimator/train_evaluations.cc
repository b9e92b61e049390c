#include "runtime/estimator/train_evaluations.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/best_checkpoint.h"
#include "runtime/estimator/setup.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

constexpr char kLossShard0[] = "loss_shard_0";

bool IsHigherBetter(const proto::Monitor& monitor) { return monitor.mode() == proto::Monitor::MAX; }

// Returns a text that identifies a monitor. It does not contain min_delta, which does not change
// the meaning of the best value so far.
std::string MonitorText(const proto::Monitor& monitor, const std::string& evaluation) {
  return absl::StrCat(proto::Monitor::Mode_Name(monitor.mode()), " ", monitor.metric(),
                      evaluation.empty() ? "" : absl::StrCat(" of ", evaluation));
}

// Returns the options of an evaluation, which the chief runs alone: its dumps go to a subfolder of
// the training's dumps.
EstimatorOptions BesideTraining(EstimatorOptions options) {
  options = OptionsOfOneProcess(std::move(options));
  if (!options.dump_dir.empty()) options.dump_dir = JoinPath(options.dump_dir, "evaluate");
  return options;
}

double ValueOf(const Evaluation& evaluation, const std::string& metric) {
  if (metric == kLossShard0) return *evaluation.loss_shard_0;
  const auto found = std::find_if(evaluation.metrics.begin(), evaluation.metrics.end(),
                                  [&](const auto& entry) { return entry.first == metric; });
  return found->second.values[0];
}

void AddMetric(const std::string& name, double value, proto::EvaluationState& state) {
  proto::EvaluationState::Metric& metric = *state.add_best_metric();
  metric.set_name(name);
  metric.add_value(value);
}

}  // namespace

TrainEvaluations::TrainEvaluations(const EstimatorOptions& options,
                                   const TrainAndEvaluateInputs& inputs, ExportFn export_model,
                                   TrainStart& start)
    : options_(options),
      inputs_(inputs),
      evaluator_(BesideTraining(options)),
      exporters_(options.config, std::move(export_model)),
      hooks_(options.config.evaluation_hook(), "evaluation_hook", options),
      start_(start),
      state_(start.evaluations) {}

absl::Status TrainEvaluations::Build(const VariableStore& trained) {
  RETURN_IF_ERROR(evaluator_.Build());
  RETURN_IF_ERROR(CheckMonitor());
  RETURN_IF_ERROR(exporters_.Check());
  RETURN_IF_ERROR(evaluator_.Share(trained));
  Evaluator::EvalTarget resumed;
  if (start_.resumed.has_value()) {
    resumed.trained = TrainedFolder{start_.resumed->dir(), start_.assets};
  }
  for (const EvaluationInput& input : inputs_.evaluations) {
    RETURN_IF_ERROR(evaluator_.Check(input, resumed));
  }
  return CheckBest(MonitorText(config().monitor(), Monitored()->evaluate.name()));
}

absl::Status TrainEvaluations::CheckBest(const std::string& monitor) {
  // What the file says of the resumed checkpoint was found after it had been written.
  std::optional<proto::EvaluationState> file;
  if (start_.resumed.has_value()) {
    ASSIGN_OR_RETURN(file, ReadFileOfBest());
  }
  const bool resumes_best =
      file.has_value() && file->monitor() == monitor && file->best_step() == start_.step;
  if (resumes_best && HasRestored(*file)) return absl::OkStatus();
  if (state_.has_best() && state_.monitor() != monitor) {
    const bool has_newer = file.has_value() && file->monitor() == state_.monitor();
    LOG(WARNING) << "The best checkpoint so far, of step "
                 << (has_newer ? file->best_step() : state_.best_step()) << ", was chosen by "
                 << state_.monitor() << ", now it is " << monitor << ": the choice begins anew.";
    ForgetBest();
  }
  const std::string best = PrefixOf(state_.best_step());
  if (state_.has_best() && IsAbsent(BundleIndexPath(best))) {
    // The file may know a better one, which was found after the resumed checkpoint was written.
    if (!resumes_best &&
        !(file.has_value() && BestPrefix(options_.config.model_dir(), *file).ok())) {
      LOG(WARNING) << "The best checkpoint so far, " << best
                   << ", is gone: the choice begins anew.";
    }
    ForgetBest();
  }
  state_.set_monitor(monitor);
  return absl::OkStatus();
}

void TrainEvaluations::ForgetBest() {
  state_.clear_best();
  state_.clear_best_step();
  state_.clear_best_metric();
  state_.clear_best_identity();
  state_.clear_no_better();
}

std::string TrainEvaluations::PrefixOf(int64_t step) const {
  return CheckpointPrefix(options_.config.model_dir(), step);
}

absl::StatusOr<std::optional<proto::EvaluationState>> TrainEvaluations::ReadFileOfBest() const {
  absl::StatusOr<std::optional<proto::EvaluationState>> read = ReadBestCheckpoint(start_.dir);
  if (!absl::IsDataLoss(read.status())) return read;
  LOG(WARNING) << read.status().message();
  return std::nullopt;
}

bool TrainEvaluations::HasRestored(const proto::EvaluationState& stopped) {
  if (!stopped.has_restored_from_step()) return false;
  const proto::EvaluationState resumed = std::exchange(state_, stopped);
  restored_ = stops_early();  // not with more patience: the training then goes on from there
  if (!restored_) state_ = resumed;
  return restored_;
}

absl::StatusOr<bool> TrainEvaluations::Resume(const Evaluated& resumed) {
  if (restored_) return true;
  const bool is_pending = state_.has_pending_step() && state_.pending_step() == resumed.step;
  if (state_.has_pending_step() && !is_pending) {
    RETURN_IF_ERROR(EvaluatePending(state_.pending_step()));
    if (stops_early()) {
      RETURN_IF_ERROR(RestoreBest(resumed.step));
      return true;
    }
  }
  const bool evaluates = is_pending || resumed.last;
  if (evaluates) RETURN_IF_ERROR(Run(resumed));
  if (state_.has_best()) {
    RETURN_IF_ERROR(exporters_.Export({.checkpoint = PrefixOf(state_.best_step()), .best = true}));
  }
  if (!evaluates || !stops_early()) return false;
  RETURN_IF_ERROR(RestoreBest(resumed.step));
  return true;
}

absl::Status TrainEvaluations::EvaluatePending(int64_t step) {
  const std::string prefix = PrefixOf(step);
  state_.clear_pending_step();
  if (IsAbsent(BundleIndexPath(prefix))) {
    LOG(WARNING) << prefix << ", which was to be evaluated, is gone.";
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(prefix));
  Evaluator evaluator(BesideTraining(options_));
  RETURN_IF_ERROR(evaluator.Build());
  RETURN_IF_ERROR(evaluator.Load(std::optional<Checkpoint>(std::move(checkpoint))));
  return RunWith(evaluator, {.step = step, .checkpoint = prefix});
}

const EvaluationInput* TrainEvaluations::Monitored() const {
  const std::vector<EvaluationInput>& all = inputs_.evaluations;
  const std::string& name = config().monitor().evaluation();
  const auto found = std::find_if(all.begin(), all.end(), [&](const EvaluationInput& input) {
    return input.evaluate.name() == name;
  });
  if (found != all.end()) return &*found;
  return name.empty() ? &all.front() : nullptr;
}

absl::Status TrainEvaluations::CheckMonitor() const {
  const std::string& metric = config().monitor().metric();
  std::vector<std::string> numbers = evaluator_.Numbers();
  if (std::count(numbers.begin(), numbers.end(), "loss") > 0) numbers.emplace_back(kLossShard0);
  if (std::count(numbers.begin(), numbers.end(), metric) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      options_.where("train_and_evaluate.monitor.metric"), ": monitor.metric: got ", Quote(metric),
      ", want a number that the evaluation gives", DidYouMean(metric, numbers)));
}

int64_t TrainEvaluations::NextStop(int64_t step, int64_t final_step) const {
  const int64_t period = config().steps_per_eval();
  if (period == 0 || final_step - step < period - step % period) return final_step;
  return step + period - step % period;
}

bool TrainEvaluations::Due(int64_t step, bool last) {
  const auto seconds_since = [now = Clock::now()](Clock::time_point time) {
    return std::chrono::duration<double>(now - time).count();
  };
  bool due = last;
  if (config().has_steps_per_eval()) {
    due |= step % config().steps_per_eval() == 0;
  } else {
    due |= seconds_since(began_) >= static_cast<double>(config().start_delay_secs()) &&
           (!evaluated_at_.has_value() ||
            seconds_since(*evaluated_at_) >= static_cast<double>(config().throttle_secs()));
  }
  if (due) {
    state_.set_pending_step(step);
  } else {
    state_.clear_pending_step();
  }
  return due;
}

absl::Status TrainEvaluations::Run(const Evaluated& evaluated) {
  return RunWith(evaluator_, evaluated);
}

absl::Status TrainEvaluations::RunWith(Evaluator& evaluator, const Evaluated& evaluated) {
  evaluated_at_ = Clock::now();
  const std::string dir =
      evaluated.checkpoint.empty() ? options_.config.model_dir() : DirName(evaluated.checkpoint);
  const Evaluator::EvalTarget subject = {.global_step = evaluated.step,
                                         .checkpoint = evaluated.checkpoint.empty()
                                                           ? std::nullopt
                                                           : std::optional(evaluated.checkpoint),
                                         .trained = TrainedFolder{dir, start_.assets}};
  const EvaluationInput* const monitored = Monitored();
  bool best = false;
  for (const EvaluationInput& input : inputs_.evaluations) {
    ASSIGN_OR_RETURN(const Evaluation result, evaluator.Run(input, subject));
    if (&input == monitored) best = IsBest(result);
    RETURN_IF_ERROR(inputs_.on_result(result));
    last_ = MomentOf(result);
    RETURN_IF_ERROR(hooks_.Run(proto::Hook::EVALUATION, last_));
  }
  state_.clear_pending_step();
  if (best && !evaluated.checkpoint.empty()) {
    ASSIGN_OR_RETURN(*state_.mutable_best_identity(), CheckpointIdentity(evaluated.checkpoint));
  }
  RETURN_IF_ERROR(SaveBest(evaluated.checkpoint));
  if (stops_early()) {
    LOG(INFO) << "Stopping early at step " << evaluated.step << ": " << config().monitor().metric()
              << (state_.has_best()
                      ? absl::StrCat(" is not better than at step ", state_.best_step())
                      : " was no number")
              << " in " << state_.no_better() << " evaluations.";
  }
  const bool last = evaluated.last || stops_early();
  RETURN_IF_ERROR(exporters_.Export({.checkpoint = evaluated.checkpoint,
                                     .latest = true,
                                     .best = best,
                                     .last = last && !restores_best()}));
  if (!restores_best()) return absl::OkStatus();
  return exporters_.Export({.checkpoint = PrefixOf(state_.best_step()), .last = true});
}

absl::Status TrainEvaluations::SaveBest(const std::string& checkpoint) {
  return checkpoint.empty() ? absl::OkStatus() : WriteBestCheckpoint(start_.dir, state_);
}

absl::Status TrainEvaluations::RestoreBest(int64_t step) {
  if (!restores_best()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string best, BestPrefix(options_.config.model_dir(), state_));
  // A run that is killed between the two writes resumes the checkpoint of `step`, stops again and
  // comes here.
  proto::EvaluationState stopped = state_;
  stopped.set_restored_from_step(step);
  RETURN_IF_ERROR(WriteBestCheckpoint(start_.dir, stopped));
  RETURN_IF_ERROR(start_.saver.MakeLatest(start_.dir, best));
  restored_ = true;
  LOG(INFO) << "Restored the best checkpoint, " << best << ": it is the latest.";
  return absl::OkStatus();
}

void TrainEvaluations::Describe(TrainResult& result) const {
  if (!state_.has_best()) return;
  BestEvaluation& best = result.best.emplace();
  best.step = state_.best_step();
  if (state_.has_best_identity()) best.checkpoint = PrefixOf(state_.best_step());
  best.metrics = BestMetrics(state_);
  if (!restored_) return;
  result.global_step = best.step;
  result.checkpoint = best.checkpoint;
  result.last_step.reset();
}

std::optional<int64_t> TrainEvaluations::restored_step() const {
  return restored_ ? std::optional(state_.best_step()) : std::nullopt;
}

absl::Status TrainEvaluations::Finish() {
  RETURN_IF_ERROR(hooks_.Run(proto::Hook::END, last_));
  return WaitForHooks();
}

absl::Status TrainEvaluations::WaitForHooks() { return hooks_.Finish(); }

bool TrainEvaluations::IsBest(const Evaluation& evaluation) {
  const proto::Monitor& monitor = config().monitor();
  const double value = ValueOf(evaluation, monitor.metric());
  if (std::isnan(value)) {
    LOG(WARNING) << monitor.metric() << " is NaN at step " << evaluation.global_step
                 << ", which is no better than any.";
  }
  const double gain = IsHigherBetter(monitor) ? value - state_.best() : state_.best() - value;
  const bool best = state_.has_best() ? gain > monitor.min_delta() : !std::isnan(value);
  if (!best) {
    state_.set_no_better(state_.no_better() + 1);
    return false;
  }
  state_.set_best(value);
  state_.set_best_step(evaluation.global_step);
  state_.set_no_better(0);
  state_.clear_best_identity();
  state_.clear_best_metric();
  for (const auto& [name, metric] : evaluation.metrics) {
    // Arrays would make each checkpoint large: the confusion matrix of 1,000 classes has 8 MB.
    if (metric.is_number()) AddMetric(name, metric.values[0], state_);
    if (name == "loss" && evaluation.loss_shard_0.has_value())
      AddMetric(kLossShard0, *evaluation.loss_shard_0, state_);
  }
  return true;
}

bool TrainEvaluations::stops_early() const {
  return config().has_early_stopping() &&
         state_.no_better() >= config().early_stopping().patience();
}

}  // namespace tpurun
