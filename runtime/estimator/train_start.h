// Where a training begins: what its model_dir holds.
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
  Directory dir;  // model_dir, locked; not open while it does not exist
  Saver saver;
  std::optional<Checkpoint> resumed;  // the one to go on from
  int64_t step = 0;                   // its global_step
  // What train_and_evaluate carries on; also through a train between, which leaves it as it is.
  proto::EvaluationState evaluations = {};
  // RunState::assets; once the input is open those of it too.
  std::map<std::string, std::string> assets = {};
};

// Locks model_dir and reads which checkpoints it has; writes nothing.
absl::StatusOr<TrainStart> FindTrainStart(const EstimatorOptions& options);
// The same of model_dir that is open and locked, or not open, for it was absent.
absl::StatusOr<TrainStart> ReadTrainStart(const EstimatorOptions& options, Directory dir);

// Why a training ends before its first step.
enum class SkipReason : uint8_t { kTrained, kStoppedEarly };

// The result of a training whose steps were done before. Removes what a killed run has left.
TrainResult SkipTraining(const TrainStart& start, SkipReason reason = SkipReason::kTrained);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_START_H_
