// Finds every mistake of a RunConfig that can be found without data. ParseModel finds the mistakes
// inside the ModelSpec, ParseInput those inside an Input.
#ifndef TPURUN_CLI_CONFIG_VALIDATE_H_
#define TPURUN_CLI_CONFIG_VALIDATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/config/load_config.h"
#include "proto/run_config.pb.h"

namespace tpurun {

// The parts of the configuration that must be complete.
struct RequiredParts {
  bool train = false;
  bool train_input = true;  // with train
  bool evaluate = false;
  bool predict = false;
  bool export_model = false;
  // The name of the evaluation to run. nullopt: no name is given.
  std::optional<std::string> evaluation = std::nullopt;
  bool all_evaluations = false;
  // Replaces the evaluations' own steps.
  std::optional<int64_t> evaluation_steps = std::nullopt;
  // True for train_and_evaluate, together with train, evaluate and all_evaluations.
  bool alternating = false;
  int num_processes = 1;  // that emulate the cores
};

// The value of --name for all evaluations. An evaluation may therefore not have this name.
inline constexpr char kAllEvaluations[] = "all";

// Adds every mistake, with the field, the actual and the expected value, and the warnings of
// config_warnings.h.
void ValidateConfig(const LoadedConfig& config, const RequiredParts& required,
                    ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_VALIDATE_H_
