// The effective configuration as text: what `config` prints and what a run leaves in model_dir.
#ifndef TPURUN_CLI_CONFIG_PRINT_CONFIG_H_
#define TPURUN_CLI_CONFIG_PRINT_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/config/load_config.h"

namespace tpurun {

// One RunConfig textproto, with the model inline and absolute paths, that loads to the same
// configuration. Scalars of RunConfig and TPUConfig are printed even when nobody set them. Each
// value's origin follows as a comment: "default", "FILE:LINE" or the flag.
absl::StatusOr<std::string> PrintConfig(const LoadedConfig& config);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_PRINT_CONFIG_H_
