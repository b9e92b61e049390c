#include "runtime/estimator/train_loop.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "proto/iterations_per_loop.h"
#include "runtime/base/status.h"
#include "runtime/estimator/cadence.h"
#include "runtime/estimator/diagnose.h"
#include "runtime/estimator/replay.h"
#include "runtime/estimator/train_step.h"

namespace tpurun {
namespace {

using Clock = std::chrono::steady_clock;

// The input is slow if the device waits for it more than this share of the time, after so many
// seconds of loops.
constexpr double kSlowInputShare = 0.1;
constexpr double kSlowInputSeconds = 10;

constexpr std::chrono::seconds kProgressPeriod(1);

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

double TrainLoop::Totals::loss() const {
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return losses.empty() ? 0 : sum / static_cast<double>(losses.size());
}

TrainLoop::TrainLoop(const EstimatorOptions& options, TrainPeers& peers, TrainProgram& program,
                     TrainInput& input, TrainOutput& output, TrainEvaluations* evaluations)
    : options_(options),
      peers_(peers),
      program_(program),
      input_(input),
      output_(output),
      evaluations_(evaluations),
      hooks_(options.config.training_hook(), "training_hook", options),
      hooked_checkpoint_(output.checkpoints().latest()),
      profile_(options, program.session),
      done_{.step = input.start_step()} {
  const CoreProgram& compiled = program.session.program();
  if (compiled.outfeed.empty()) return;
  outfeed_ =
      std::make_unique<Outfeed>(compiled, [this](int64_t loop_index, const std::byte* slots) {
        const int64_t step = done_.step + loop_index;
        const HostTrace::Scope scope(options_.host_trace.get(), HostTrace::Lane::kOutfeed,
                                     "summaries of step", step);
        return output_.events().WriteSummaries(step, slots);
      });
  LOG(INFO) << "Outfeed started: " << compiled.outfeed.size() << " values, up to "
            << outfeed_->ring().capacity() << " steps behind.";
}

absl::Status TrainLoop::Run() {
  const proto::RunConfig& config = options_.config;
  ASSIGN_OR_RETURN(const IterationsPerLoop configured,
                   ParseIterationsPerLoop(config.tpu_config().iterations_per_loop()));
  LoopLength length(configured);
  LOG(INFO) << "Training from step " << done_.step << " to " << input_.final_step()
            << " in loops of " << length.ToString() << ".";
  RETURN_IF_ERROR(RunHooksOfCheckpoint());
  waited_before_ = input_.infeed().ring().waited();
  while (done_.step < input_.final_step() && !stopped_early_) {
    const int64_t final_step = input_.final_step();
    const int64_t stop =
        evaluations_ == nullptr ? final_step : evaluations_->NextStop(done_.step, final_step);
    const int64_t iterations = length.Next(stop - done_.step);
    RETURN_IF_ERROR(peers_.BeginRun(iterations));
    RunProfile* const profile = profile_.Begin(done_.step, iterations);
    const Clock::time_point start = Clock::now();
    const RunResult result = RunLoop(iterations, profile);
    // From here on only this thread writes the event file.
    const absl::Status written = outfeed_ == nullptr ? absl::OkStatus() : outfeed_->Drain();
    const double seconds = SecondsSince(start);
    done_.step += result.steps;
    done_.seconds += seconds;
    done_.summary_seconds += result.periodic_seconds;
    length.LoopDone(result.steps, seconds);
    if (result.steps > 0) done_.losses = result.loss;
    if (!written.ok()) return output_.Failed(done_.step, written);
    if (result.steps < iterations || !result.status.ok()) return Stopped(result);
    const bool evaluate =
        evaluations_ != nullptr && evaluations_->Due(done_.step, done_.step == final_step);
    const absl::Status done = LoopDone(result.steps, seconds);
    if (absl::IsAborted(done)) return output_.Failed(done_.step, done);
    RETURN_IF_ERROR(done);
    output_.Keep();
    const absl::Status profiled = profile_.End(done_.step, done_.step == input_.final_step());
    if (!profiled.ok()) return SaveAndFail(profiled);
    RETURN_IF_ERROR(RunHooksOfCheckpoint());
    RETURN_IF_ERROR(RunHooks(proto::Hook::LOOP));
    if (evaluate) RETURN_IF_ERROR(Evaluate());
  }
  return absl::OkStatus();
}

RunResult TrainLoop::RunLoop(int64_t iterations, RunProfile* profile) {
  RunArgs args = {.iterations = iterations,
                  .first_step = done_.step,
                  .host_call_every_n_steps =
                      options_.config.tpu_config().experimental_host_call_every_n_steps(),
                  .fabric = options_.fabric,
                  .profile = profile,
                  .interrupt = options_.interrupt};
  if (options_.train.progress) {
    args.heartbeat_period = kProgressPeriod;
    args.heartbeat = [this, start = Clock::now()](int64_t steps) {
      TellProgress(done_.step + steps, steps, SecondsSince(start));
    };
  }
  return program_.session.RunLoop(std::move(args), input_.infeed(), outfeed_.get());
}

absl::Status TrainLoop::LoopDone(int64_t steps, double seconds) {
  WarnOfSlowInput();
  const bool last = done_.step == input_.final_step();
  RETURN_IF_ERROR(output_.LoopDone(done_.step, done_.loss(), last));
  TellProgress(done_.step, steps, seconds);
  return output_.Flush();
}

void TrainLoop::TellProgress(int64_t step, int64_t steps, double seconds) {
  if (!options_.train.progress) return;
  if (steps > 0) steps_per_second_ = static_cast<double>(steps) / std::max(seconds, 1e-9);
  options_.train.progress(
      {.step = step,
       .final_step = input_.final_step(),
       .loss = done_.losses.empty() ? std::nullopt : std::optional(done_.loss()),
       .steps_per_second = steps_per_second_,
       .examples_per_second = steps_per_second_ * options_.config.train_batch_size()});
}

void TrainLoop::WarnOfSlowInput() {
  const double waited =
      std::chrono::duration<double>(input_.infeed().ring().waited() - waited_before_).count();
  if (warned_of_input_ || done_.seconds < kSlowInputSeconds) return;
  if (waited < kSlowInputShare * done_.seconds) return;
  warned_of_input_ = true;
  LOG(WARNING) << absl::StrFormat(
      "The device waited for the input in %.0f %% of the time. tpurun profile shows the transform "
      "that takes longest. Put transform { cache {} } behind it, ahead of what is random; or make "
      "records that need less of it, such as smaller images.",
      100 * waited / done_.seconds);
}

absl::Status TrainLoop::Evaluate() {
  const Clock::time_point start = Clock::now();
  RETURN_IF_ERROR(output_.SaveIfNew(done_.step));
  RETURN_IF_ERROR(RunHooksOfCheckpoint());
  if (const absl::Status moved = output_.CheckPath(); !moved.ok()) {
    return output_.Failed(done_.step, moved);
  }
  const absl::Status evaluated = evaluations_->Run({.step = done_.step,
                                                    .checkpoint = output_.checkpoints().latest(),
                                                    .last = done_.step == input_.final_step()});
  if (absl::IsCancelled(evaluated)) return Interrupted();
  if (!evaluated.ok()) return output_.Failed(done_.step, evaluated);
  stopped_early_ = evaluations_->stops_early();
  output_.events().Paused(Clock::now() - start);
  return absl::OkStatus();
}

absl::Status TrainLoop::RunHooks(proto::Hook::At at) {
  const absl::Status run =
      hooks_.Run(at, {.step = done_.step,
                      .checkpoint = output_.checkpoints().latest(),
                      .loss = done_.losses.empty() ? std::nullopt : std::optional(done_.loss())});
  return run.ok() ? run : SaveAndFail(run);
}

absl::Status TrainLoop::RunHooksOfCheckpoint() {
  const std::string& latest = output_.checkpoints().latest();
  if (latest == hooked_checkpoint_) return absl::OkStatus();
  hooked_checkpoint_ = latest;
  return RunHooks(proto::Hook::CHECKPOINT);
}

absl::Status TrainLoop::SaveAndFail(const absl::Status& failed) {
  if (done_.losses.empty()) return output_.Failed(done_.step, failed);
  const absl::Status saved = output_.SaveIfNew(done_.step);
  const std::string& latest = output_.checkpoints().latest();
  const std::string kept = !saved.ok()      ? absl::StrCat("; ", saved.message())
                           : latest.empty() ? ""
                                            : absl::StrCat("; checkpoint saved: ", latest);
  return output_.Failed(done_.step, absl::AbortedError(absl::StrCat("step ", done_.step, ": ",
                                                                    failed.message(), kept)));
}

absl::Status TrainLoop::Stopped(const RunResult& result) {
  if (result.loss_not_finite) return LossNotFinite(result);
  if (result.not_finite.has_value()) return VariableNotFinite(result);
  if (result.interrupted) return Interrupted();
  const int64_t step = done_.step;
  const absl::Status why = absl::IsOutOfRange(result.status)
                               ? result.status
                               : Annotate(result.status, absl::StrCat("step ", step + 1));
  // The steps before the end or error of an input are valid and can be saved.
  const bool of_peer = options_.fabric != nullptr && result.between_steps;
  const bool by_input = result.status == input_.infeed().input_status() || of_peer;
  if (absl::IsUnavailable(result.status) && options_.fabric != nullptr)
    return output_.Failed(step, ProcessLost(why));
  if (step == input_.start_step() || !by_input || !output_.checkpoints().enabled()) {
    return output_.Failed(step, why);
  }
  const absl::Status saved = output_.SaveIfNew(step);
  if (!saved.ok()) {
    return absl::Status(saved.code(), absl::StrCat(why.message(), "; ", saved.message()));
  }
  RETURN_IF_ERROR(output_.events().End(step, false));
  RETURN_IF_ERROR(output_.events().writer().Close());
  return absl::Status(
      why.code(),
      absl::StrCat(why.message(), "; checkpoint saved: ", output_.checkpoints().latest()));
}

absl::Status TrainLoop::ProcessLost(const absl::Status& why) const {
  const std::string latest = output_.LastGoodCheckpoint();
  return absl::UnavailableError(absl::StrCat(why.message(), "; start it again to go on from ",
                                             latest.empty() ? "the beginning" : latest));
}

absl::Status TrainLoop::Interrupted() {
  RETURN_IF_ERROR(output_.SaveIfNew(done_.step));
  const absl::Status profiled = profile_.End(done_.step, true);
  if (!profiled.ok()) LOG(ERROR) << profiled.message();
  RETURN_IF_ERROR(output_.events().writer().Close());
  return absl::CancelledError(absl::StrCat(
      "interrupted after step ", done_.step, " of ", input_.final_step(),
      "; checkpoint saved: ", output_.checkpoints().latest(), "; start it again to go on"));
}

absl::Status TrainLoop::LossNotFinite(const RunResult& result) {
  std::string message = absl::StrCat("NaN or infinity in the loss at step ", done_.step + 1,
                                     InProcess(result.bad_replica));
  const absl::StatusOr<FailedStep> failed = peers_.CollectFailedStep(done_.step, program_, input_);
  bool diverged = false;
  std::string where;
  if (failed.ok()) {
    const Graph& graph = program_.GraphOf(failed->bucket);
    const absl::StatusOr<NonFinite> cause =
        FindNonFinite(graph, failed->variables, failed->batch.data(), result.steps,
                      options_.features, graph.outputs()[graph.FindOutput(kLossOutput)].value);
    if (cause.ok() && !cause->what.empty()) absl::StrAppend(&message, ": ", cause->what);
    diverged = cause.ok() && !cause->what.empty() && !cause->in_input;
    where = failed->where[ProcessOf(result.bad_replica)];
  }
  return NotFinite(where, std::move(message), diverged ? "lower the learning rate" : "");
}

absl::Status TrainLoop::VariableNotFinite(const RunResult& result) {
  const Session& session = program_.session;
  std::string message = absl::StrCat("NaN or infinity in the weights at step ", done_.step, ": ",
                                     DescribeVariable(session, *result.not_finite));
  const std::string variable = session.program().variables[result.not_finite->variable].name;
  const auto replayed = [&]() -> absl::StatusOr<std::pair<NonFinite, std::string>> {
    ASSIGN_OR_RETURN(
        const FailedStep failed,
        peers_.ReplayFailedStep({.checkpoint = output_.checkpoints().latest(), .step = done_.step},
                                program_, input_));
    const Graph& graph = program_.GraphOf(failed.bucket);
    ASSIGN_OR_RETURN(const Value value, UpdateOf(graph, variable));
    ASSIGN_OR_RETURN(
        const NonFinite cause,
        FindNonFinite(graph, failed.variables, failed.batch.data(), 0, options_.features, value));
    return std::pair(cause, failed.where[ProcessOf(cause.replica)]);
  };
  const absl::StatusOr<std::pair<NonFinite, std::string>> found = replayed();
  std::string advice = "lower the learning rate";
  if (!found.ok()) {
    absl::StrAppend(&message, "; what made it so is not known: ", found.status().message());
    return NotFinite(options_.fabric == nullptr ? input_.WhereIs(done_.step - 1) : "",
                     std::move(message), advice);
  }
  const auto& [cause, where] = *found;
  if (cause.what.empty()) {
    absl::StrAppend(&message, ", which the reference kernels keep finite");
  } else {
    absl::StrAppend(&message, ", ", cause.what, InProcess(cause.replica));
    advice = cause.in_input ? "" : absl::StrCat(advice, ", or mend the model there");
  }
  return NotFinite(where, std::move(message), advice);
}

int TrainLoop::ProcessOf(int replica) const {
  return replica / program_.session.program().num_replicas;
}

std::string TrainLoop::InProcess(int replica) const {
  if (options_.fabric == nullptr) return "";
  return absl::StrCat(" (core ", replica, " of process ", ProcessOf(replica), ")");
}

absl::Status TrainLoop::NotFinite(const std::string& where, std::string message,
                                  const std::string& advice) {
  if (!where.empty()) absl::StrAppend(&message, " (the batch ends with ", where, ")");
  if (!advice.empty()) absl::StrAppend(&message, "; ", advice);
  const std::string good = output_.LastGoodCheckpoint();
  if (!good.empty()) absl::StrAppend(&message, "; the last good checkpoint is ", good);
  return output_.Failed(done_.step, absl::AbortedError(message));
}

absl::Status TrainLoop::Finish() {
  input_.infeed().Stop();
  if (outfeed_ != nullptr) {
    RETURN_IF_ERROR(outfeed_->Finish());
    LOG(INFO) << "Summaries took "
              << absl::StrFormat("%.3f of %.3f s.", done_.summary_seconds, done_.seconds);
  }
  RETURN_IF_ERROR(output_.Finish(done_.step));
  if (stopped_early_) RETURN_IF_ERROR(evaluations_->RestoreBest(done_.step));
  RETURN_IF_ERROR(hooks_.Run(proto::Hook::END, MomentOfEnd()));
  if (evaluations_ != nullptr) RETURN_IF_ERROR(evaluations_->Finish());
  RETURN_IF_ERROR(hooks_.Finish());
  VLOG(1) << "Instruction parts: " << program_.session.InstructionsRun() << ".";
  LOG(INFO) << "Loss for final step: " << done_.loss() << ".";
  return absl::OkStatus();
}

HookMoment TrainLoop::MomentOfEnd() const {
  HookMoment end = {
      .step = done_.step, .checkpoint = output_.checkpoints().latest(), .loss = done_.loss()};
  if (evaluations_ == nullptr || !evaluations_->restored_step().has_value()) return end;
  end.step = *evaluations_->restored_step();
  end.loss.reset();  // of a later step
  return end;
}

absl::StatusOr<TrainResult> TrainLoop::Result() const {
  const int64_t steps = done_.step - input_.start_step();
  ASSIGN_OR_RETURN(const auto rates, program_.learning_rates.At(done_.step - 1));
  TrainResult result = {
      .stopped_early = stopped_early_,
      .global_step = done_.step,
      .checkpoint = output_.checkpoints().latest(),
      .last_step = TrainResult::Step{.loss = done_.loss(),
                                     .loss_shard_0 = done_.losses.empty() ? 0 : done_.losses[0],
                                     .learning_rates = rates},
      .steps = steps,
      .seconds = done_.seconds,
      .examples_per_second = static_cast<double>(steps * options_.config.train_batch_size()) /
                             std::max(done_.seconds, 1e-9)};
  if (evaluations_ != nullptr) evaluations_->Describe(result);
  return result;
}

}  // namespace tpurun
