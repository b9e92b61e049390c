#include "runtime/estimator/train_start.h"

#include <utility>

#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/estimator/model_dir.h"
#include "runtime/estimator/setup.h"
#include "runtime/io/event_writer.h"

namespace tpurun {

absl::StatusOr<TrainStart> FindTrainStart(const EstimatorOptions& options) {
  const proto::RunConfig& config = options.config;
  ASSIGN_OR_RETURN(Directory dir,
                   LockModelDir(config.model_dir(), {.interrupt = options.interrupt}));
  ASSIGN_OR_RETURN(std::optional<Checkpoint> resumed,
                   ChooseCheckpoint(ModeKey::kTrain, config.model_dir(), ""));
  int64_t step = 0;
  if (resumed.has_value()) {
    ASSIGN_OR_RETURN(step, resumed->GlobalStep());
  }
  ASSIGN_OR_RETURN(Saver saver, Saver::Open({.model_dir = config.model_dir(),
                                             .keep_checkpoint_max = config.keep_checkpoint_max(),
                                             .keep_checkpoint_every_n_hours =
                                                 config.keep_checkpoint_every_n_hours(),
                                             .now = WallTime}));
  return TrainStart{.dir = std::move(dir),
                    .saver = std::move(saver),
                    .resumed = std::move(resumed),
                    .step = step};
}

TrainResult SkipTraining(const TrainStart& start) {
  // The directory may be read-only by now.
  const absl::Status swept = start.dir.is_open() ? start.saver.Sweep(start.dir) : absl::OkStatus();
  if (!swept.ok()) {
    LOG(WARNING) << "What a killed run has left is not removed: " << swept.message();
  }
  LOG(INFO) << "Skipping training since max_steps has already saved.";
  return {.skipped = true,
          .global_step = start.step,
          .checkpoint = start.resumed.has_value() ? start.resumed->prefix() : ""};
}

}  // namespace tpurun
