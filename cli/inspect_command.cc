#include "cli/inspect_command.h"

#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/inspect.h"
#include "cli/json.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {

absl::Status InspectCommand(const CommandLine& command) {
  const std::string format = command.GetString("format", "text");
  if (format != "text" && format != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format: got ", Quote(format), ", want text or json"));
  }
  const int64_t limit = command.GetInt("limit", 0);
  if (command.Has("limit") && limit < 1) {
    return absl::InvalidArgumentError(absl::StrCat("--limit: got ", limit, ", want a number >= 1"));
  }
  std::ostringstream out;
  const absl::Status status = Inspect(command.arguments().front(), format == "json", out, limit);
  // What stands before the damage is shown too.
  RETURN_IF_ERROR(WriteOutput(out.str()));
  return status;
}

}  // namespace tpurun
