#include "runtime/base/bfloat16.h"

#include "runtime/base/clones.h"

namespace tpurun {

TPURUN_CLONES void RoundToBFloat16(const float* from, int64_t n, uint16_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16Bits(from[i]);
}

TPURUN_CLONES void RoundInFloat(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = RoundToBFloat16(from[i]);
}

}  // namespace tpurun
