#include "runtime/estimator/train_start.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/best_checkpoint.h"
#include "runtime/checkpoint/model_dir.h"
#include "runtime/estimator/setup.h"
#include "runtime/io/event_writer.h"

namespace tpurun {
namespace {

absl::StatusOr<proto::EvaluationState> EvaluationStateOf(const RunState& state,
                                                         const Checkpoint& checkpoint) {
  absl::StatusOr<proto::EvaluationState> evaluations = ParseEvaluationText(state.evaluation);
  if (evaluations.ok()) return evaluations;
  return absl::DataLossError(
      absl::StrCat("checkpoint ", checkpoint.prefix(),
                   ": tpurun/evaluation is no EvaluationState: ", evaluations.status().message()));
}

SaverOptions SavingOf(const proto::RunConfig& config) {
  return {.model_dir = config.model_dir(),
          .keep_checkpoint_max = config.keep_checkpoint_max(),
          .keep_checkpoint_every_n_hours = config.keep_checkpoint_every_n_hours(),
          .now = WallTime};
}

// Fills the fields that come from the checkpoint.
absl::Status ResumeFrom(std::optional<Checkpoint> resumed, TrainStart& start) {
  start.resumed = std::move(resumed);
  if (!start.resumed.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(start.step, start.resumed->GlobalStep());
  ASSIGN_OR_RETURN(RunState state, start.resumed->ReadRunState());
  ASSIGN_OR_RETURN(start.evaluations, EvaluationStateOf(state, *start.resumed));
  start.assets = std::move(state.assets);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainStart> FindTrainStart(const EstimatorOptions& options) {
  ASSIGN_OR_RETURN(Directory dir,
                   LockModelDir(options.config.model_dir(), {.interrupt = options.interrupt}));
  return ReadTrainStart(options, std::move(dir));
}

absl::StatusOr<TrainStart> ReadTrainStart(const EstimatorOptions& options, Directory dir) {
  SaverOptions saving = SavingOf(options.config);
  // Files that exist by now belong to another training, which has the lock.
  if (!dir.is_open()) return TrainStart{.saver = Saver(std::move(saving))};
  ASSIGN_OR_RETURN(std::optional<Checkpoint> resumed,
                   ChooseCheckpoint(ModeKey::kTrain, options.config.model_dir(), ""));
  ASSIGN_OR_RETURN(Saver saver, Saver::Open(std::move(saving)));
  TrainStart start{.dir = std::move(dir), .saver = std::move(saver)};
  RETURN_IF_ERROR(ResumeFrom(std::move(resumed), start));
  return start;
}

absl::StatusOr<TrainStart> StartOfFollower(const EstimatorOptions& options,
                                           std::optional<Checkpoint> resumed) {
  TrainStart start{.saver = Saver(SavingOf(options.config))};
  RETURN_IF_ERROR(ResumeFrom(std::move(resumed), start));
  return start;
}

TrainResult SkipTraining(const TrainStart& start, SkipReason reason) {
  // The directory may be read-only by now.
  const absl::Status swept = start.dir.is_open() ? start.saver.Sweep(start.dir) : absl::OkStatus();
  if (!swept.ok()) {
    LOG(WARNING) << "What a killed run has left is not removed: " << swept.message();
  }
  const bool early = reason == SkipReason::kStoppedEarly;
  LOG(INFO) << (early ? "Skipping training since it has stopped early."
                      : "Skipping training since max_steps has already saved.");
  return {.skipped = true,
          .stopped_early = early,
          .global_step = start.step,
          .checkpoint = start.resumed.has_value() ? start.resumed->prefix() : ""};
}

}  // namespace tpurun
