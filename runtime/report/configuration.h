// The configuration of a run as a flat list of names and values, to compare runs.
#ifndef TPURUN_RUNTIME_REPORT_CONFIGURATION_H_
#define TPURUN_RUNTIME_REPORT_CONFIGURATION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tpurun {

// The values that are set in model_dir/run_config.pbtxt, without model_dir itself, by config path:
// "model.layer.hidden_1.dense.units". An element of a list is named by its name, else by its
// number. Empty if there is no such file. DataLoss if it is not a RunConfig. Unknown fields are
// left out.
absl::StatusOr<std::map<std::string, std::string>> ReadConfiguration(const std::string& model_dir);

// The names whose values differ between the configurations, sorted. Empty configurations do not
// count.
std::vector<std::string> DifferingNames(
    const std::vector<std::map<std::string, std::string>>& configurations);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_CONFIGURATION_H_
