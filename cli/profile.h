// The verb `profile`.
#ifndef TPURUN_CLI_PROFILE_H_
#define TPURUN_CLI_PROFILE_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

absl::Status ProfileCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_PROFILE_H_
