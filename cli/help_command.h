#ifndef TPURUN_CLI_HELP_COMMAND_H_
#define TPURUN_CLI_HELP_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `tpurun help [VERB|TOPIC|NAME] [--search=WORD] [--man]`.
absl::Status HelpCommand(const CommandLine& command);

// The possible arguments of `help`, without paths.
std::vector<std::string> HelpChoices();

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_COMMAND_H_
