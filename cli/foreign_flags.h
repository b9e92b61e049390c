// Flags of other TPUEstimator programs, and their equivalents in tpurun.
#ifndef TPURUN_CLI_FOREIGN_FLAGS_H_
#define TPURUN_CLI_FOREIGN_FLAGS_H_

#include <span>
#include <string>
#include <string_view>

namespace tpurun {

// A row of the table. If several rows match a flag and a verb, the first is used.
struct ForeignFlag {
  std::string_view names;  // separated by blanks
  std::string_view verbs;  // separated by blanks; empty for all verbs
  std::string_view hint;   // the equivalent, or why there is none
};
std::span<const ForeignFlag> ForeignFlags();

// The hint for a verb that takes a configuration. Empty if no row matches. `name` has no dashes in
// front, and '_' in place of '-'.
std::string ForeignFlagHint(std::string_view name, std::string_view verb);

}  // namespace tpurun

#endif  // TPURUN_CLI_FOREIGN_FLAGS_H_
