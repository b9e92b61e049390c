// Checks an input of the configuration against its model, without opening files.
#ifndef TPURUN_CLI_CHECK_INPUT_H_
#define TPURUN_CLI_CHECK_INPUT_H_

#include <string>
#include <vector>

#include "cli/config/load_config.h"
#include "data/input_fn.h"
#include "proto/config_errors.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The topology, device, use_tpu and strict_dtypes of a RunConfig, as the arguments to check a model
// for.
ModelFnArgs TargetOf(const proto::RunConfig& run);

// An input of the configuration and the mode that reads it.
struct ModeInput {
  ModeKey mode = ModeKey::kTrain;
  std::string path;                             // "evaluate[0].input"
  const proto::Input* input = nullptr;          // owned by the configuration
  const proto::Evaluate* evaluation = nullptr;  // the evaluation, in EVAL
};

// Adds the errors of the input, whose plan is `plan`, that are found without opening a file.
// `features` are those of the model. `errors` already has the errors of reading the configuration:
// if a feature of the model could not be read, nothing is said about the features that the input
// makes.
void CheckModeInput(const LoadedConfig& config, const std::vector<FeatureSpec>& features,
                    const ModeInput& input, const InputPlan& plan, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_INPUT_H_
