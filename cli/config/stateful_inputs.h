// Checks the inputs of models with stateful layers. Each row of a batch must continue where the
// same row of the previous batch ended.
#ifndef TPURUN_CLI_CONFIG_STATEFUL_INPUTS_H_
#define TPURUN_CLI_CONFIG_STATEFUL_INPUTS_H_

#include <string>

#include "cli/config/load_config.h"
#include "proto/config_errors.h"
#include "runtime/spec/input_deployment.h"

namespace tpurun {

// True if a layer, or a default of layers, is stateful.
bool IsStateful(const proto::ModelSpec& model);

// For a stateful model, reports a transform of the input at `path` that mixes the rows. Also
// reports a source text whose streams are not the rows of a batch or whose windows overlap.
// `batch_field` is the name of the batch size field, "train_batch_size".
void CheckStatefulInput(const LoadedConfig& config, const proto::Input& input,
                        const std::string& path, const std::string& batch_field,
                        const InputDeployment& deployment, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_STATEFUL_INPUTS_H_
