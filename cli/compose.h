// The composition root: from a command line to an Estimator and its input.
#ifndef TPURUN_CLI_COMPOSE_H_
#define TPURUN_CLI_COMPOSE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "proto/run_config.pb.h"
#include "runtime/estimator/estimator.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct Composition {
  EstimatorOptions options;
  InputFn input_fn;                          // of train or predict, whichever is required
  std::vector<EvaluationInput> evaluations;  // those that are required, one or more
  ExportInputs export_inputs;  // where a model is exported; its input is that of predict
};

// What an Estimator is made of besides what only training needs. NotFound when the working
// directory is gone.
absl::StatusOr<EstimatorOptions> MakeOptions(const CommandLine& command, const LoadedConfig& config,
                                             ModelFn model_fn);

// Loads and checks the configuration, builds the ModelFn and the InputFns of the parts that
// `required` names. Every mistake that needs no data is in the error, each with its place.
// Warnings are logged, and end it under --strict.
absl::StatusOr<Composition> Compose(const CommandLine& command, const RequiredParts& required);

}  // namespace tpurun

#endif  // TPURUN_CLI_COMPOSE_H_
