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

// The names of the data files, as the sources of the configuration give them.
struct InitSources {
  std::vector<std::string> train;
  std::vector<std::string> eval;  // equal to `train`, unless other files are held out
};

// Returns the contents of each of the two files.
std::string RunText(const InitPlan& plan, const InitSources& sources);
std::string ModelText(const InitPlan& plan);
// Returns the contents of all files by name, including the two names above.
std::map<std::string, std::string> InitFiles(const InitPlan& plan, const InitSources& sources);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_TEXT_H_
