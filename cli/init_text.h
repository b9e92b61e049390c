// The files that `tpurun init` writes for a plan.
#ifndef TPURUN_CLI_INIT_TEXT_H_
#define TPURUN_CLI_INIT_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "cli/init_plan.h"

namespace tpurun {

inline constexpr char kInitRunFile[] = "run.textproto";
inline constexpr char kInitModelFile[] = "model.textproto";

// By name, those two among them. `files` are the data's, as they stand in a source of the
// configuration.
std::map<std::string, std::string> InitFiles(const InitPlan& plan,
                                             const std::vector<std::string>& files);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_TEXT_H_
