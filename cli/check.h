// The verb `check`: will a model run on a Cloud TPU, does it fit into its memory, how long is a
// step.
#ifndef TPURUN_CLI_CHECK_H_
#define TPURUN_CLI_CHECK_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

absl::Status CheckCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_H_
