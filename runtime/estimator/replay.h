// Repeats a training from its last checkpoint, to find out what made a variable NaN or infinite.
#ifndef TPURUN_RUNTIME_ESTIMATOR_REPLAY_H_
#define TPURUN_RUNTIME_ESTIMATOR_REPLAY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_program.h"
#include "runtime/ir/graph.h"

namespace tpurun {

struct ReplayArgs {
  // The prefix of the checkpoint. Empty: the training's own start, which was not a checkpoint.
  std::string checkpoint;
  int64_t step = 0;  // the failing step: global_step after it
};

// `variable "hidden/kernel" f32[4,10] is inf at [0,2]`, with the value in the session.
std::string DescribeVariable(const Session& session, const NotFinite& found);

// Trains again from the checkpoint up to the step before `step`, with the same batches and bits,
// without writing anything; all processes do. Afterwards the session has the variables at the start
// of that step, and the front entry of the infeed is its batch. An error if that is not possible:
// the checkpoint is gone, or the input cannot be read again. Cancelled after an interrupt.
absl::Status Replay(const EstimatorOptions& options, const ReplayArgs& args, TrainProgram& program,
                    TrainInput& input);

// The value that the variable has after a step.
absl::StatusOr<Value> UpdateOf(const Graph& graph, const std::string& variable);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_REPLAY_H_
