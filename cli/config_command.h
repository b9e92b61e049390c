#ifndef TPURUN_CLI_CONFIG_COMMAND_H_
#define TPURUN_CLI_CONFIG_COMMAND_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `tpurun config`: prints the effective configuration on standard output.
absl::Status ConfigCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_COMMAND_H_
