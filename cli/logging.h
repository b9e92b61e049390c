// Writes log lines through glog to standard error, never to files.
#ifndef TPURUN_CLI_LOGGING_H_
#define TPURUN_CLI_LOGGING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

enum class LogFormat { kText, kJson };

// Call once, after the flags are parsed. A message is one line with escaped control characters.
// Warnings begin with "WARNING: ". With --v, --vmodule or --log_prefix, lines begin like glog's
// own: with severity, time, thread, file and line. kJson writes one object a line: severity, time
// (seconds since 1970), file, line, message.
void StartLogging(const char* program, LogFormat format);

// Only errors are logged from now on, and begin with "process 1: ": what the configuration warns of
// is the same in all processes.
void LogAsProcess(int rank);
// After LogAsProcess "process 1: ", before it empty.
std::string OfProcess();
// After LogAsProcess: warnings again.
void LogWarningsOfProcess();

// While the object lives, this thread's lines are neither written nor counted: of an emulated
// process that does the same as the one that logs.
class ScopedNoLog {
 public:
  ScopedNoLog();
  ~ScopedNoLog();
  ScopedNoLog(const ScopedNoLog&) = delete;
  ScopedNoLog& operator=(const ScopedNoLog&) = delete;
};

// Logs each of the texts as a warning.
void LogWarnings(const std::vector<std::string>& warnings);

// The number of warnings logged so far, without the warnings that --minloglevel suppresses.
int64_t WarningCount();
// Returns an error (exit code 5) if --strict is given and there were warnings.
absl::Status CheckWarnings(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_LOGGING_H_
