// The speed of a training's input on this machine, for `check --measure_input`.
#ifndef TPURUN_CLI_MEASURE_INPUT_H_
#define TPURUN_CLI_MEASURE_INPUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct InputRate {
  int64_t examples = 0;  // that were read
  double examples_per_second = 0;
  double cpu_seconds = 0;  // of one example, on all threads together
};

// Reads batches of train.input, whose InputFn is `input_fn`, for 2 seconds after the first one, or
// to its end, without training. The errors of `train` for its input. DataLoss if there are less
// than two batches. Cancelled after an interrupt.
absl::StatusOr<InputRate> MeasureInput(const EstimatorOptions& options, const InputFn& input_fn);

}  // namespace tpurun

#endif  // TPURUN_CLI_MEASURE_INPUT_H_
