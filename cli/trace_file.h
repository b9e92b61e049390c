// --trace=FILE of check and profile.
#ifndef TPURUN_CLI_TRACE_FILE_H_
#define TPURUN_CLI_TRACE_FILE_H_

#include "absl/status/status.h"
#include "cli/command_line.h"
#include "runtime/estimator/estimator.h"
#include "runtime/profile/trace_events.h"

namespace tpurun {

// InvalidArgument if --trace names no file, or one of ProtectedFiles(options).
absl::Status CheckTraceFlag(const CommandLine& command, const EstimatorOptions& options);

// Writes the file that --trace names.
absl::Status WriteTraceFile(const CommandLine& command, TraceEvents& events);

}  // namespace tpurun

#endif  // TPURUN_CLI_TRACE_FILE_H_
