// Where a training begins: what its model_dir holds.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_START_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_START_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/estimator/checkpoint.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/saver.h"
#include "runtime/io/directory.h"

namespace tpurun {

struct TrainStart {
  Directory dir;  // model_dir, locked; not open while it does not exist
  Saver saver;
  std::optional<Checkpoint> resumed;  // the one to go on from
  int64_t step = 0;                   // its global_step
};

// Locks model_dir and reads which checkpoints it has; writes nothing.
absl::StatusOr<TrainStart> FindTrainStart(const EstimatorOptions& options);

// The result of a training whose steps were done before. Removes what a killed run has left.
TrainResult SkipTraining(const TrainStart& start);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_START_H_
