// The composition root: creates an Estimator's options and its inputs from a command line.
#ifndef TPURUN_CLI_COMPOSE_H_
#define TPURUN_CLI_COMPOSE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "models/model_builder.h"
#include "proto/run_config.pb.h"
#include "runtime/estimator/estimator.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct Composition {
  EstimatorOptions options;
  InputFn input_fn;                          // of train or predict, whichever is required
  std::vector<EvaluationInput> evaluations;  // the required evaluations, one or more
  ExportInputs export_inputs;                // if a model is exported; the input is predict's

  // The input of the mode that PartsOf required; of EVAL that of the first evaluation here.
  const InputFn& InputOf(ModeKey mode) const {
    return mode == ModeKey::kEval ? evaluations.front().input_fn : input_fn;
  }
};

// The value of --mode: train (the default), evaluate or predict.
absl::StatusOr<ModeKey> ModeOf(const CommandLine& command);
// What a verb requires that runs one mode.
RequiredParts PartsOf(ModeKey mode);

// Gives each of several processes its share of the replicas: without num_shards the cores of one
// host. Adds an error if they cannot share them.
void ShareReplicas(int processes, LoadedConfig& config, ConfigErrors& errors);

// Returns the options of an Estimator. Its TrainOptions and other options that depend on the verb
// are not set. NotFound if the working directory no longer exists.
absl::StatusOr<EstimatorOptions> MakeOptions(const CommandLine& command, const LoadedConfig& config,
                                             const RequiredParts& required, ParsedModel model);

// The files that no output of a verb may replace: those of EstimatorOptions::files_read, and those
// of the training in model_dir.
std::vector<std::string> ProtectedFiles(const EstimatorOptions& options);

// Loads and checks the configuration, and builds the ModelFn and the InputFns of the parts that
// `required` names. The error lists every mistake that can be found without data, each with its
// place. Warnings are logged; under --strict they are an error. `fabric`: the processes that run
// the verb together, which must outlive the composition; nullptr: this one alone.
absl::StatusOr<Composition> Compose(const CommandLine& command, const RequiredParts& required,
                                    Fabric* fabric = nullptr);

}  // namespace tpurun

#endif  // TPURUN_CLI_COMPOSE_H_
