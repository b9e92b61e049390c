// Computes the step that a training ends with.
#ifndef TPURUN_RUNTIME_ESTIMATOR_FINAL_STEP_H_
#define TPURUN_RUNTIME_ESTIMATOR_FINAL_STEP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/run_config.pb.h"

namespace tpurun {

// The final step according to config.train for a training from `start_step`, or 0 if it gives no
// length. `examples_per_epoch` is negative if the examples cannot be counted. InvalidArgument for
// epochs of such an input, or if the epochs make no whole step or too many steps.
absl::StatusOr<int64_t> FinalStep(const proto::RunConfig& config, int64_t start_step,
                                  int64_t examples_per_epoch);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_FINAL_STEP_H_
