#include "cli/check.h"

#include "absl/strings/str_cat.h"
#include "cli/check_model.h"
#include "cli/check_numerics.h"
#include "cli/check_saved_model.h"

namespace tpurun {

absl::Status CheckCommand(const CommandLine& command) {
  for (const char* const other : {"saved_model", "numerics"}) {
    if (!command.Has("trace") || !command.Has(other)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--trace is for the forecast of a training's step: got --", other,
                     " too, want only one of them"));
  }
  if (command.Has("saved_model")) return CheckSavedModel(command);
  if (command.GetBool("numerics")) return CheckNumerics(command);
  return CheckModel(command);
}

}  // namespace tpurun
