#ifndef TPURUN_CLI_VERSION_COMMAND_H_
#define TPURUN_CLI_VERSION_COMMAND_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

inline constexpr char kVersion[] = "0.1.0";

// `tpurun version`.
absl::Status VersionCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_VERSION_COMMAND_H_
