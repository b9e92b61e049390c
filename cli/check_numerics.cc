#include "cli/check_numerics.h"

namespace tpurun {

absl::Status CheckNumerics(const CommandLine&) {
  return absl::UnimplementedError("check --numerics is not there yet");
}

}  // namespace tpurun
