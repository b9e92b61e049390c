// warm_start_from: initial values of variables from the checkpoint of another model, as
// tf.estimator.WarmStartSettings.
#ifndef TPURUN_RUNTIME_CHECKPOINT_WARM_START_H_
#define TPURUN_RUNTIME_CHECKPOINT_WARM_START_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/run_config.pb.h"
#include "runtime/checkpoint/variable_store.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Reads the model's variables that vars_to_warm_start matches, trainable or not, but not
// global_step and not state variables. In an object-based checkpoint or SavedModel, MatchObjects
// finds the variables. The log lists the variables that are read and those that are not.
// InvalidArgument if the checkpoint does not have a variable, or has it in another shape; nothing
// is changed then.
absl::Status WarmStart(const proto::WarmStart& settings,
                       const std::vector<Variable>& model_variables, VariableStore& store);

// Warns of each of these assets (TrainedFolder::assets) that differs from the asset of the
// checkpoint.
absl::Status WarnOfOtherAssets(const proto::WarmStart& settings,
                               const std::map<std::string, std::string>& assets);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_WARM_START_H_
