// What a verb does with a configuration before it reads data. Input: a RunConfig's textproto, then,
// if there is a line "---", the ModelSpec's.
#include <string>

#include "cli/config/load_config.h"
#include "cli/config/print_config.h"
#include "cli/config/validate.h"
#include "data/input_fn.h"
#include "glog/logging.h"
#include "models/model_builder.h"
#include "runtime/base/status.h"
#include "runtime/spec/topology.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr char kRunName[] = "run.textproto";
constexpr char kModelName[] = "model.textproto";
constexpr std::string_view kSeparator = "\n---\n";

absl::StatusOr<LoadedConfig> Load(std::string_view bytes, ConfigErrors& errors) {
  const size_t separator = bytes.find(kSeparator);
  LoadOptions options = {.config_path = ScratchPath(kRunName)};
  if (separator != std::string_view::npos) {
    WriteScratch(kModelName, bytes.substr(separator + kSeparator.size()));
    options.edits.push_back({.path = "model_file", .value = ScratchPath(kModelName), .raw = true});
  }
  WriteScratch(kRunName, bytes.substr(0, separator));
  return LoadConfig(options, errors);
}

void CheckInput(const LoadedConfig& config, const proto::Input& input, const std::string& path,
                ConfigErrors& errors) {
  ParseInput(input, config.run.transformation_func(), config.locations, path, "", errors);
}

// Builds the graphs of all modes.
absl::Status BuildModel(const ModelFn& model_fn) {
  for (const ModeKey mode : {ModeKey::kTrain, ModeKey::kEval, ModeKey::kPredict}) {
    RETURN_IF_ERROR(model_fn({.mode = mode,
                              .topology = kDevice,
                              .batch_per_replica = 3,
                              .has_labels = mode != ModeKey::kPredict})
                        .status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FuzzConfig(std::string_view bytes) {
  ConfigErrors errors;
  ASSIGN_OR_RETURN(const LoadedConfig config, Load(bytes, errors));
  if (errors.empty()) RETURN_IF_ERROR(PrintConfig(config).status());
  ValidateConfig(config, {.train = true, .evaluate = true, .predict = true}, errors);
  const ParsedModel model =
      ParseModel(config.model, config.locations, errors, {.topology = kDevice});
  CheckInput(config, config.run.train().input(), "train.input", errors);
  CheckInput(config, config.run.predict().input(), "predict.input", errors);
  for (int i = 0; i < config.run.evaluate_size(); ++i) {
    CheckInput(config, config.run.evaluate(i).input(), ElementPath("evaluate", i) + ".input",
               errors);
  }
  RETURN_IF_ERROR(ErrorList(errors.Lines(config.locations), errors.code()));
  return BuildModel(model.model_fn);
}

}  // namespace tpurun
