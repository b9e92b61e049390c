// How log lines leave the process: through glog to standard error, never to files.
#ifndef TPURUN_CLI_LOGGING_H_
#define TPURUN_CLI_LOGGING_H_

#include <string_view>

namespace tpurun {

enum class LogFormat { kText, kJson };

// Call once, after the flags are parsed. A message is one line, control characters in it escaped;
// warnings begin with "WARNING: ". With --v, --vmodule or --log_prefix lines begin as glog's do:
// with severity, time, thread, file and line. kJson writes one object a line: severity, time
// (seconds since 1970), file, line, message.
void StartLogging(const char* program, LogFormat format);

}  // namespace tpurun

#endif  // TPURUN_CLI_LOGGING_H_
