#ifndef TPURUN_CLI_SUMMARY_H_
#define TPURUN_CLI_SUMMARY_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `summary --config=FILE [--format=text|json]`: the layers of the model as Keras shows them, what a
// step of each mode that has an input takes, and every mistake and warning of all of them. Needs no
// file of data and writes none.
absl::Status SummaryCommand(const CommandLine& command);

// The same into `out`. InvalidArgument lists the mistakes; where the model has none, its rows are
// written first.
absl::Status Summarize(const CommandLine& command, bool json, std::ostream& out);

}  // namespace tpurun

#endif  // TPURUN_CLI_SUMMARY_H_
