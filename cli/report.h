// `tpurun report`: shows the runs at or below some directories, as one HTML page or in the
// terminal.
#ifndef TPURUN_CLI_REPORT_H_
#define TPURUN_CLI_REPORT_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// With --output and without --text, prints the result {"output", "runs", "points", "points_shown",
// "bytes"}.
absl::Status ReportCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_REPORT_H_
