// Every mistake of a RunConfig that can be found without data. What is wrong inside the ModelSpec
// is found by MakeModelFn, inside an Input by MakeInputFn.
#ifndef TPURUN_CLI_CONFIG_VALIDATE_H_
#define TPURUN_CLI_CONFIG_VALIDATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/config/load_config.h"
#include "proto/run_config.pb.h"

namespace tpurun {

// What of the configuration must be complete.
struct RequiredParts {
  bool train = false;
  bool evaluate = false;
  bool predict = false;
  bool export_model = false;
  // The evaluation to run, by name; nullopt: no name is given.
  std::optional<std::string> evaluation = std::nullopt;
  bool all_evaluations = false;
  // Of the evaluations, instead of theirs.
  std::optional<int64_t> evaluation_steps = std::nullopt;
  // Of train_and_evaluate: with train, evaluate and all_evaluations.
  bool alternating = false;
};

// What --name takes for all evaluations, which therefore is no name of one.
inline constexpr char kAllEvaluations[] = "all";

// Adds every mistake, field, got, want, and the warnings of config_warnings.h.
void ValidateConfig(const LoadedConfig& config, const RequiredParts& required,
                    ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_VALIDATE_H_
