#ifndef TPURUN_CLI_EXPORT_COMMAND_H_
#define TPURUN_CLI_EXPORT_COMMAND_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `tpurun export`: writes a trained model in a format for other programs and prints the path.
absl::Status ExportCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_EXPORT_COMMAND_H_
