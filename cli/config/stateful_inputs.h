// What layers that keep their state want of an input: that each row of a batch goes on where that
// of the batch before ended.
#ifndef TPURUN_CLI_CONFIG_STATEFUL_INPUTS_H_
#define TPURUN_CLI_CONFIG_STATEFUL_INPUTS_H_

#include <string>

#include "cli/config/load_config.h"
#include "proto/config_errors.h"
#include "runtime/spec/input_deployment.h"

namespace tpurun {

// Whether a layer, or a default of layers, is stateful.
bool IsStateful(const proto::ModelSpec& model);

// Reports a transform that mixes the rows, and a source text whose streams are not the rows of a
// batch or whose windows overlap, in the input at `path` of a model that is stateful.
// `batch_field`: of the batch size, "train_batch_size".
void CheckStatefulInput(const LoadedConfig& config, const proto::Input& input,
                        const std::string& path, const std::string& batch_field,
                        const InputDeployment& deployment, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_STATEFUL_INPUTS_H_
