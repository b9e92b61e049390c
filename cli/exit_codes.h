// The exit codes of the program, with the conditions under which it ends with each. This is the
// only list of them.
#ifndef TPURUN_CLI_EXIT_CODES_H_
#define TPURUN_CLI_EXIT_CODES_H_

#include <span>

namespace tpurun {

struct ExitCodeDoc {
  int code;
  const char* when;
};

// Sorted by code.
std::span<const ExitCodeDoc> ExitCodes();

}  // namespace tpurun

#endif  // TPURUN_CLI_EXIT_CODES_H_
