#ifndef TPURUN_CLI_HELP_COMMAND_H_
#define TPURUN_CLI_HELP_COMMAND_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `help [VERB|TOPIC|NAME]`.
absl::Status HelpCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_COMMAND_H_
