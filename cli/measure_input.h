// The speed of a training's input on this machine, for `check --measure_input`.
#ifndef TPURUN_CLI_MEASURE_INPUT_H_
#define TPURUN_CLI_MEASURE_INPUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "cli/command_line.h"

namespace tpurun {

struct InputRate {
  int64_t examples = 0;  // that were read
  double examples_per_second = 0;
  double cpu_seconds = 0;  // of one example, on all threads together
};

// Reads batches of train.input for 2 seconds after the first one, or to its end, without training.
// The errors of `train` for its configuration and its input. DataLoss if there are less than two
// batches. Cancelled after an interrupt.
absl::StatusOr<InputRate> MeasureInput(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_MEASURE_INPUT_H_
