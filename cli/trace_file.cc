#include "cli/trace_file.h"

#include "cli/compose.h"
#include "cli/signals.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"

namespace tpurun {

absl::Status CheckTraceFlag(const CommandLine& command, const EstimatorOptions& options) {
  if (!command.Has("trace")) return absl::OkStatus();
  const std::string path = command.GetString("trace");
  if (path.empty()) return absl::InvalidArgumentError("--trace: got \"\", want the name of a file");
  // Before what takes long.
  ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(path, ProtectedFiles(options)));
  return OutputFile::Create(file).status();
}

absl::Status WriteTraceFile(const CommandLine& command, TraceEvents& events) {
  ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(command.GetString("trace")));
  RemoveOnInterrupt({TemporaryName(file).text()});
  return WriteFileAtomically(file, events.Take());
}

}  // namespace tpurun
