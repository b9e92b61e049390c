#include "cli/config_command.h"

#include "cli/config/config_warnings.h"
#include "cli/config/load_config.h"
#include "cli/config/print_config.h"
#include "cli/json.h"
#include "cli/logging.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::Status ConfigCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(const LoadOptions options, command.load_options());
  ASSIGN_OR_RETURN(const LoadedConfig config, LoadSoundConfig(options));
  ConfigErrors warnings;
  WarnOfConfig(config.run, config.run.has_train(), /*alternates=*/false, warnings);
  WarnOfNormalizedLabels(config.run, config.model, warnings);
  LogWarnings(warnings.Warnings(config.locations));
  ASSIGN_OR_RETURN(const std::string text, PrintConfig(config));
  return WriteOutput(text);
}

}  // namespace tpurun
