// Errors of TPUEstimator for programs that run on a CPU but not on a TPU, and their handling in
// tpurun.
#ifndef TPURUN_CLI_TPU_ERRORS_H_
#define TPURUN_CLI_TPU_ERRORS_H_

#include <span>

namespace tpurun {

struct TpuErrorDoc {
  const char* name;  // "E6"
  const char* code;  // the exit code; empty: the error cannot occur
  const char* when;  // the condition and the remedy, or why it cannot occur
};

// In order, from E1 to E28.
std::span<const TpuErrorDoc> TpuErrors();

}  // namespace tpurun

#endif  // TPURUN_CLI_TPU_ERRORS_H_
