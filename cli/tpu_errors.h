// What runs on a CPU and not on a TPU: the errors of TPUEstimator, and what becomes of them here.
#ifndef TPURUN_CLI_TPU_ERRORS_H_
#define TPURUN_CLI_TPU_ERRORS_H_

#include <span>

namespace tpurun {

struct TpuErrorDoc {
  const char* name;  // "E6"
  const char* code;  // the exit code that it ends with; empty: it cannot be
  const char* when;  // and what to do; or why it cannot be
};

// In order, from E1 to E28.
std::span<const TpuErrorDoc> TpuErrors();

}  // namespace tpurun

#endif  // TPURUN_CLI_TPU_ERRORS_H_
