// `tpurun init`: writes a configuration and a model for data that has no configuration yet.
#ifndef TPURUN_CLI_INIT_H_
#define TPURUN_CLI_INIT_H_

#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

std::vector<Flag> InitFlags();
absl::Status InitCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_H_
