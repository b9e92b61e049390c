#ifndef TPURUN_CLI_INSPECT_COMMAND_H_
#define TPURUN_CLI_INSPECT_COMMAND_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `tpurun inspect PATH [--format=text|json] [--limit=N]`. With --png see inspect_images.h.
absl::Status InspectCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_INSPECT_COMMAND_H_
