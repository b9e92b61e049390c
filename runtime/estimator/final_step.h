// The step that a training ends with.
#ifndef TPURUN_RUNTIME_ESTIMATOR_FINAL_STEP_H_
#define TPURUN_RUNTIME_ESTIMATOR_FINAL_STEP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/run_config.pb.h"

namespace tpurun {

// As config.train says, from `start_step` on; 0 where it does not. `examples_per_epoch` is negative
// where they cannot be counted. InvalidArgument for epochs of such an input, of no whole step or of
// too many.
absl::StatusOr<int64_t> FinalStep(const proto::RunConfig& config, int64_t start_step,
                                  int64_t examples_per_epoch);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_FINAL_STEP_H_
