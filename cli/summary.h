#ifndef TPURUN_CLI_SUMMARY_H_
#define TPURUN_CLI_SUMMARY_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `tpurun summary --config=FILE [--format=text|json]`: shows the layers of the model like Keras,
// the operations and bytes of a step in each mode that has an input, and all mistakes and warnings.
// Needs no data files and writes none.
absl::Status SummaryCommand(const CommandLine& command);

// Writes the summary to `out`. InvalidArgument lists the mistakes. If none of them is in the model,
// its rows are written before.
absl::Status Summarize(const CommandLine& command, bool json, std::ostream& out);

}  // namespace tpurun

#endif  // TPURUN_CLI_SUMMARY_H_
