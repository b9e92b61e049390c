// What the configuration alone shows to be wrong with an input for its model.
#ifndef TPURUN_CLI_CHECK_INPUT_H_
#define TPURUN_CLI_CHECK_INPUT_H_

#include <string>

#include "cli/config/load_config.h"
#include "proto/config_errors.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Where a model of the configuration is to run, to check it for.
ModelFnArgs TargetOf(const proto::RunConfig& run);

// An input of the configuration and what reads it.
struct ModeInput {
  ModeKey mode = ModeKey::kTrain;
  std::string path;                             // "evaluate[0].input"
  const proto::Input* input = nullptr;          // of the configuration
  const proto::Evaluate* evaluation = nullptr;  // of EVAL
};

// Adds it, as far as no file is needed. `errors` has the mistakes of reading the configuration:
// where a feature of the model could not be read, nothing is said of what the input feeds.
void CheckModeInput(const LoadedConfig& config, const ModeInput& input, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_INPUT_H_
