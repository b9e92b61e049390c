#include "cli/check_saved_model.h"

namespace tpurun {

absl::Status CheckSavedModel(const CommandLine&) {
  return absl::UnimplementedError("check --saved_model is not there yet");
}

}  // namespace tpurun
