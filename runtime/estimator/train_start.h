// The start of a training: the contents of its model_dir.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_START_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_START_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "proto/evaluation_state.pb.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/saver.h"
#include "runtime/estimator/estimator.h"
#include "runtime/io/directory.h"

namespace tpurun {

struct TrainStart {
  Directory dir;  // model_dir, locked; not open if it does not exist
  Saver saver;
  std::optional<Checkpoint> resumed;  // the checkpoint to resume
  int64_t step = 0;                   // global_step of that checkpoint
  // The state that train_and_evaluate keeps in checkpoints. A `train` in between passes it on
  // unchanged.
  proto::EvaluationState evaluations = {};
  // RunState::assets. After the input is opened, also the assets of the input.
  std::map<std::string, std::string> assets = {};
};

// Locks model_dir and reads its list of checkpoints. Writes nothing.
absl::StatusOr<TrainStart> FindTrainStart(const EstimatorOptions& options);
// The same for a model_dir that is open and locked, or not open because it was absent.
absl::StatusOr<TrainStart> ReadTrainStart(const EstimatorOptions& options, Directory dir);

// The start of a process that follows the chief, which resumes the same checkpoint, if any.
absl::StatusOr<TrainStart> StartOfFollower(const EstimatorOptions& options,
                                           std::optional<Checkpoint> resumed);

// The reason why a training ends before its first step.
enum class SkipReason : uint8_t { kTrained, kStoppedEarly };

// The result of a training that was already complete. Removes the leftovers of a killed run.
TrainResult SkipTraining(const TrainStart& start, SkipReason reason = SkipReason::kTrained);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_START_H_
