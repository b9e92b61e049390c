#include "cli/check.h"

#include "cli/check_model.h"
#include "cli/check_numerics.h"
#include "cli/check_saved_model.h"

namespace tpurun {

absl::Status CheckCommand(const CommandLine& command) {
  if (command.Has("saved_model")) return CheckSavedModel(command);
  if (command.GetBool("numerics")) return CheckNumerics(command);
  return CheckModel(command);
}

}  // namespace tpurun
