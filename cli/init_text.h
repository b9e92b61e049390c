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

// The data's, as they stand in sources of the configuration.
struct InitSources {
  std::vector<std::string> train;
  std::vector<std::string> eval;  // the same, but where other files are held out
};

// By name, those two among them.
std::map<std::string, std::string> InitFiles(const InitPlan& plan, const InitSources& sources);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_TEXT_H_
