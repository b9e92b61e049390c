// warm_start_from: initial values of variables from another model's checkpoint, after
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

// Reads those of the model's variables that vars_to_warm_start matches, trainable or not; not
// global_step, and no state. Variables of an object-based checkpoint or SavedModel are found by
// MatchObjects. The log lists them and the others. A variable that the checkpoint does not have, or
// has in another shape, is InvalidArgument; nothing is changed then.
absl::Status WarmStart(const proto::WarmStart& settings,
                       const std::vector<Variable>& model_variables, VariableStore& store);

// Warns of each of these assets (TrainedFolder::assets) that is not that of the checkpoint.
absl::Status WarnOfOtherAssets(const proto::WarmStart& settings,
                               const std::map<std::string, std::string>& assets);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_WARM_START_H_
