#include "runtime/estimator/train_input.h"

#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/final_step.h"
#include "runtime/estimator/input_files.h"
#include "runtime/estimator/setup.h"
#include "runtime/session/call_input_fn.h"

namespace tpurun {

absl::StatusOr<InputSource> TrainInput::Call(const InputFn& input_fn) const {
  const proto::RunConfig& config = options_.config;
  return CallInputFn(input_fn, DeploymentOf(options_, ModeKey::kTrain),
                     {.mode = ModeKey::kTrain,
                      .features = options_.features,
                      .seed = config.tf_random_seed(),
                      .count_examples = config.train().has_epochs(),
                      .trained = trained_});
}

absl::Status TrainInput::Open(const InputFn& input_fn, const std::optional<Checkpoint>& resumed) {
  if (resumed.has_value()) {
    ASSIGN_OR_RETURN(trained_, TrainedFolderOf(options_, resumed));
  }
  ASSIGN_OR_RETURN(source_, Call(input_fn));
  ASSIGN_OR_RETURN(final_step_,
                   FinalStep(options_.config, start_step_, source_.examples_per_epoch));
  if (!resumed.has_value() || already_trained()) return absl::OkStatus();
  return Annotate(Resume(input_fn, *resumed), absl::StrCat("resuming from ", resumed->prefix()));
}

absl::Status TrainInput::Resume(const InputFn& input_fn, const Checkpoint& resumed) {
  ASSIGN_OR_RETURN(const RunState state, resumed.ReadRunState());
  if (state.input_position.empty()) {
    LOG(WARNING) << "The checkpoint has no input position: the input starts from its beginning.";
    return absl::OkStatus();
  }
  const bool may_change = options_.train.allow_changed_input;
  const absl::Status same_files = CheckInputFiles(source_.files, state.input_files);
  if (!same_files.ok() && !may_change) return ChangedInput(same_files);
  const absl::StatusOr<std::string> position =
      LocalPosition(state.input_position, DeploymentOf(options_, ModeKey::kTrain));
  const absl::Status restored =
      position.ok() ? source_.batches->Restore(*position) : position.status();
  if (restored.ok()) {
    if (!same_files.ok()) LOG(WARNING) << same_files.message() << ": going on where it was.";
    return absl::OkStatus();
  }
  if (!absl::IsInvalidArgument(restored) && !absl::IsDataLoss(restored)) return restored;
  if (!may_change) return ChangedInput(restored);
  LOG(WARNING) << restored.message() << ": the input starts from its beginning.";
  ASSIGN_OR_RETURN(source_, Call(input_fn));
  return absl::OkStatus();
}

absl::Status TrainInput::CheckOpensAgain() const {
  if (!source_.reads_once) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("another tpurun has trained in ", options_.config.model_dir(),
                   " meanwhile, and the input is a pipe, whose first batches are read: start it "
                   "again to go on from there"));
}

absl::Status TrainInput::Start(const TrainProgram& program) {
  for (const FeatureSpec& feature : source_.features) {
    if (feature.num_ids == 0 || feature.is_label) continue;
    LOG(INFO) << "The input has " << feature.num_ids << " different ids of " << Quote(feature.name);
  }
  if (!trained_.has_value()) first_position_ = source_.batches->Position();
  RETURN_IF_ERROR(Feed(options_, program, final_step_ - start_step_));
  LOG(INFO) << "Infeed started: batches of " << options_.config.train_batch_size()
            << " rows, up to " << infeed_->ring().capacity() << " ahead.";
  return absl::OkStatus();
}

absl::Status TrainInput::Feed(const EstimatorOptions& options, const TrainProgram& program,
                              int64_t batches) {
  const Session& session = program.session;
  std::vector<std::vector<InfeedSlot>> buckets;
  if (session.num_programs() > 1) {
    for (int bucket = 0; bucket < session.num_programs(); ++bucket)
      buckets.push_back(session.ProgramOf(bucket).infeed);
  }
  ASSIGN_OR_RETURN(
      infeed_,
      CreateInfeed(options, ModeKey::kTrain, "train", start_step_ + 1, source_, session.program(),
                   {.num_batches = batches,
                    .ended_message = [this](int64_t batches) { return EndedMessage(batches); },
                    .classes = ClassesOf(program.graph),
                    .buckets = std::move(buckets)}));
  infeed_->Start();
  return absl::OkStatus();
}

absl::Status TrainInput::Rewind(const TrainProgram& program,
                                const std::optional<std::string>& position, int64_t first_step,
                                int64_t last_step) {
  std::optional<std::string> from = position.has_value() ? position : first_position_;
  if (!from.has_value() || from->empty())
    return absl::FailedPreconditionError("the position of the input is not known");
  if (position.has_value()) {
    ASSIGN_OR_RETURN(from, LocalPosition(*position, DeploymentOf(options_, ModeKey::kTrain)));
  }
  source_.batches = infeed_->TakeSource();
  if (source_.batches == nullptr)
    return absl::FailedPreconditionError("the input waits for data that does not come");
  RETURN_IF_ERROR(source_.batches->Restore(*from));
  fed_from_ = first_step;
  EstimatorOptions again = options_;
  again.dump_infeed.clear();  // the dump has these steps already
  again.config.mutable_tpu_config()->clear_initial_infeed_sleep_secs();
  return Feed(again, program, last_step - first_step);
}

absl::Status TrainInput::WaitForFirst() {
  VLOG(1) << "Waiting for the first batch.";
  const absl::Status first = infeed_->WaitForFirst(options_.interrupt);
  if (first.ok()) VLOG(1) << "The first batch is there.";
  if (!absl::IsCancelled(first)) return first;
  return absl::CancelledError("interrupted while waiting for the first batch; nothing was written");
}

std::string TrainInput::EndedMessage(int64_t batches) const {
  const int64_t wanted = final_step_ - fed_from_;
  const absl::int128 missing = wanted - batches;
  return absl::StrFormat(
      "the training input ended after step %d of %d: %d steps, %d examples, are missing; repeat it "
      "without a count (a pipe after a cache), or train for fewer steps",
      fed_from_ + batches, final_step_, missing, missing * options_.config.train_batch_size());
}

}  // namespace tpurun
