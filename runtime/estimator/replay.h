// What made a variable NaN or infinite: a training is repeated from its last checkpoint.
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
  // Its prefix, or empty: the training's own start, which was no checkpoint.
  std::string checkpoint;
  int64_t step = 0;      // the bad one: global_step behind it
  std::string variable;  // that it wrote
};

// `variable "hidden/kernel" f32[4,10] is inf at [0,2]`, of the session's values.
std::string DescribeVariable(const Session& session, const NotFinite& found);

// Trains again from the checkpoint up to the step before `step`, with the same batches and bits,
// writing nothing, then looks for the node that `variable` has its first NaN or infinity from.
// Afterwards the session holds the variables of that step's start and the infeed's front entry is
// its batch. An error where that is not possible: the checkpoint is gone, or the input cannot be
// read again. Cancelled after an interrupt.
absl::StatusOr<NonFinite> Replay(const EstimatorOptions& options, const ReplayArgs& args,
                                 TrainProgram& program, TrainInput& input);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_REPLAY_H_
