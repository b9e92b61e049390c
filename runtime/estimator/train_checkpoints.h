// TrainCheckpoints: when a training saves, and what.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_CHECKPOINTS_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_CHECKPOINTS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/estimator/cadence.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_program.h"
#include "runtime/estimator/train_start.h"

namespace tpurun {

class TrainCheckpoints {
 public:
  // All outlive it.
  TrainCheckpoints(const EstimatorOptions& options, TrainStart& start, const TrainProgram& program,
                   const TrainInput& input);

  bool enabled() const { return cadence_.enabled(); }
  // PermissionDenied when a save would write over a checkpoint that is not this training's.
  absl::Status CheckUnlisted() const;
  // The periods begin, at a checkpoint or before the first one.
  void Begin() { cadence_.Saved(start_.resumed.has_value() ? start_.step : -1); }
  // After the last step it always is.
  bool Due(int64_t step, bool last) const { return enabled() && (last || cadence_.Due(step)); }
  bool IsSaved(int64_t step) const { return cadence_.IsSaved(step); }
  // Aborted for values that are not finite, and then nothing is written; PermissionDenied when
  // model_dir has been moved, where the checkpoint is saved all the same. It carries the
  // `evaluations` of the start; the best one and one that is not evaluated yet are kept whatever
  // their age.
  absl::Status Save(int64_t step);
  // The prefix of the latest one; empty when there is none.
  const std::string& latest() const { return start_.saver.latest(); }

 private:
  TrainStart& start_;
  const TrainProgram& program_;
  const TrainInput& input_;
  SaveCadence cadence_;
  const std::string computed_text_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_CHECKPOINTS_H_
