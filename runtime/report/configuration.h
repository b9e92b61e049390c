// The configuration of a run as one list of names and values, to compare runs by.
#ifndef TPURUN_RUNTIME_REPORT_CONFIGURATION_H_
#define TPURUN_RUNTIME_REPORT_CONFIGURATION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tpurun {

// Value by config path ("model.layer.hidden_1.dense.units": a list's elements by name, or else by
// number), of what is set in model_dir/run_config.pbtxt but model_dir itself. Empty when there is
// no such file; DataLoss when it is no RunConfig. Fields that are not known here are left out.
absl::StatusOr<std::map<std::string, std::string>> ReadConfiguration(const std::string& model_dir);

// The names whose values are not the same in all configurations, sorted; those that are empty as a
// whole do not count.
std::vector<std::string> DifferingNames(
    const std::vector<std::map<std::string, std::string>>& configurations);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_CONFIGURATION_H_
