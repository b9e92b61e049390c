// Finds out what made a variable NaN or infinite, by repeating a training from its last checkpoint.
#ifndef TPURUN_RUNTIME_ESTIMATOR_REPLAY_H_
#define TPURUN_RUNTIME_ESTIMATOR_REPLAY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/estimator/diagnose.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_program.h"

namespace tpurun {

struct ReplayArgs {
  // The prefix of the checkpoint. Empty: the training's own start, which was not a checkpoint.
  std::string checkpoint;
  int64_t step = 0;      // the failing step: global_step after it
  std::string variable;  // variable that the step wrote
};

// `variable "hidden/kernel" f32[4,10] is inf at [0,2]`, with the value in the session.
std::string DescribeVariable(const Session& session, const NotFinite& found);

// Trains again from the checkpoint up to the step before `step`, with the same batches and bits,
// without writing anything. Then finds the node where the first NaN or infinity of `variable` comes
// from. Afterwards the session has the variables at the start of that step, and the front entry of
// the infeed is its batch. An error if that is not possible: the checkpoint is gone, or the input
// cannot be read again. Cancelled after an interrupt.
absl::StatusOr<NonFinite> Replay(const EstimatorOptions& options, const ReplayArgs& args,
                                 TrainProgram& program, TrainInput& input);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_REPLAY_H_
