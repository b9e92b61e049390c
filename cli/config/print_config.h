// Formats the effective configuration as text: the output of `config` and the file that a run
// writes into model_dir.
#ifndef TPURUN_CLI_CONFIG_PRINT_CONFIG_H_
#define TPURUN_CLI_CONFIG_PRINT_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/config/load_config.h"

namespace tpurun {

// Returns one RunConfig textproto, with the model inline and absolute paths, that loads to the same
// configuration. Scalars of RunConfig and TPUConfig are printed even if they are not set. A comment
// after each value gives its origin: "default", "FILE:LINE" or the flag.
absl::StatusOr<std::string> PrintConfig(const LoadedConfig& config);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_PRINT_CONFIG_H_
