// How log lines leave the process: through glog to standard error, never to files.
#ifndef TPURUN_CLI_LOGGING_H_
#define TPURUN_CLI_LOGGING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

enum class LogFormat { kText, kJson };

// Call once, after the flags are parsed. A message is one line, control characters in it escaped;
// warnings begin with "WARNING: ". With --v, --vmodule or --log_prefix lines begin as glog's do:
// with severity, time, thread, file and line. kJson writes one object a line: severity, time
// (seconds since 1970), file, line, message.
void StartLogging(const char* program, LogFormat format);

// Each of them a warning of the log.
void LogWarnings(const std::vector<std::string>& warnings);

// Those that the log has had so far; those that --minloglevel leaves out do not count.
int64_t WarningCount();
// With --strict an error once there are any: exit code 5.
absl::Status CheckWarnings(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_LOGGING_H_
