// Flags of the programs that TPUEstimator is known from, and what says the same here.
#ifndef TPURUN_CLI_FOREIGN_FLAGS_H_
#define TPURUN_CLI_FOREIGN_FLAGS_H_

#include <span>
#include <string>
#include <string_view>

namespace tpurun {

// A row of the table; of several for one flag and verb the first counts.
struct ForeignFlag {
  std::string_view names;  // with blanks between
  std::string_view verbs;  // likewise; empty for all
  std::string_view hint;   // what to write, or why nothing
};
std::span<const ForeignFlag> ForeignFlags();

// The hint for a verb that takes a configuration; empty where no row has one. The name without
// dashes, '_' for '-'.
std::string ForeignFlagHint(std::string_view name, std::string_view verb);

}  // namespace tpurun

#endif  // TPURUN_CLI_FOREIGN_FLAGS_H_
