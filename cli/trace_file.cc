#include "cli/trace_file.h"

#include "cli/signals.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {

absl::Status CheckTraceFlag(const CommandLine& command) {
  if (!command.Has("trace") || !command.GetString("trace").empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("--trace: got \"\", want the name of a file");
}

absl::Status WriteTraceFile(const CommandLine& command, TraceEvents& events) {
  ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(command.GetString("trace"), {}));
  RemoveOnInterrupt({TemporaryName(file).text()});
  return WriteFileAtomically(file, events.Take());
}

}  // namespace tpurun
