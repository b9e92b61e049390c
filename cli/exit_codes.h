// The exit codes of the program and when it ends with each: the one list of them.
#ifndef TPURUN_CLI_EXIT_CODES_H_
#define TPURUN_CLI_EXIT_CODES_H_

#include <span>

namespace tpurun {

struct ExitCodeDoc {
  int code;
  const char* when;
};

// By code.
std::span<const ExitCodeDoc> ExitCodes();

}  // namespace tpurun

#endif  // TPURUN_CLI_EXIT_CODES_H_
