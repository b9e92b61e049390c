// TrainCheckpoints: when a training saves a checkpoint, and the contents of the checkpoint.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_CHECKPOINTS_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_CHECKPOINTS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/estimator/cadence.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_peers.h"
#include "runtime/estimator/train_program.h"
#include "runtime/estimator/train_start.h"

namespace tpurun {

class TrainCheckpoints {
 public:
  // All arguments must outlive the object.
  TrainCheckpoints(const EstimatorOptions& options, TrainPeers& peers, TrainStart& start,
                   const TrainProgram& program, const TrainInput& input);

  bool enabled() const { return cadence_.enabled(); }
  // PermissionDenied if a save would overwrite a checkpoint of another training.
  absl::Status CheckUnlisted() const;
  // Starts the periods at the resumed checkpoint, or before the first checkpoint.
  void Begin() { cadence_.Saved(start_.resumed.has_value() ? start_.step : -1); }
  // Always true after the last step, if enabled().
  bool Due(int64_t step, bool last) const { return enabled() && (last || cadence_.Due(step)); }
  bool IsSaved(int64_t step) const { return cadence_.IsSaved(step); }
  // Saves a checkpoint of `step`. Aborted if a value is not finite; nothing is written then.
  // PermissionDenied if model_dir has been moved; the checkpoint is saved all the same. The
  // checkpoint stores `start.evaluations`. The best checkpoint and a checkpoint that is not
  // evaluated yet are kept whatever their age.
  absl::Status Save(int64_t step);
  // The prefix of the latest checkpoint, or empty if there is none.
  const std::string& latest() const { return start_.saver.latest(); }

 private:
  TrainPeers& peers_;
  TrainStart& start_;
  const TrainProgram& program_;
  const TrainInput& input_;
  SaveCadence cadence_;
  const std::string canonical_text_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_CHECKPOINTS_H_
