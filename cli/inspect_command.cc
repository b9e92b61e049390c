#include "cli/inspect_command.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/inspect.h"
#include "cli/inspect_images.h"
#include "cli/json.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// What is given for --png alone.
absl::Status RefuseSheetFlags(const CommandLine& command) {
  std::vector<std::string> given;
  for (const char* name : {"mode", "name", "feature", "config", "strict"}) {
    if (command.Has(name)) given.push_back(absl::StrCat("--", name));
  }
  for (const Edit& edit : command.edits()) given.push_back(edit.flag);
  if (given.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(given.front(), " is for --png=FILE, which is not given"));
}

}  // namespace

absl::Status InspectCommand(const CommandLine& command) {
  const bool json = PrintsJson(command);
  if (command.Has("png")) return InspectImages(command, json);
  RETURN_IF_ERROR(RefuseSheetFlags(command));
  if (command.arguments().empty()) {
    return absl::InvalidArgumentError(
        "inspect needs PATH, or --png=FILE and --config=FILE; see tpurun help inspect");
  }
  const int64_t limit = command.GetInt("limit", 0);
  if (command.Has("limit") && limit < 1) {
    return absl::InvalidArgumentError(absl::StrCat("--limit: got ", limit, ", want a number >= 1"));
  }
  std::ostringstream out;
  const absl::Status status = Inspect(command.arguments().front(), json, out, limit);
  // What stands before the damage is shown too.
  RETURN_IF_ERROR(WriteOutput(out.str()));
  return status;
}

}  // namespace tpurun
