// `tpurun check --numerics`: what the precision of a TPU's products does to a training.
#ifndef TPURUN_CLI_CHECK_NUMERICS_H_
#define TPURUN_CLI_CHECK_NUMERICS_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

absl::Status CheckNumerics(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_NUMERICS_H_
