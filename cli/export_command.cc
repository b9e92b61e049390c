#include "cli/export_command.h"

#include "cli/compose.h"
#include "cli/json.h"
#include "runtime/base/status.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

absl::Status ExportCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(Composition composition, Compose(command, {.export_model = true}));
  const proto::Export config = composition.options.config.export_();
  Estimator estimator(std::move(composition.options));
  ASSIGN_OR_RETURN(
      const ExportedFiles files,
      estimator.Export(config, command.GetString("checkpoint"), composition.export_inputs));
  Json json;
  json["path"] = files.paths.front().second;
  for (const auto& [format, path] : files.paths) {
    json["formats"].push_back(format);
    json[format + "_path"] = path;
  }
  json["signatures"] = files.signatures;
  json["global_step"] = files.global_step;
  return WriteResult(json);
}

}  // namespace tpurun
