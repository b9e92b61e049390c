#include "runtime/base/bfloat16_parts.h"

#include "runtime/base/clones.h"

namespace tpurun {

TPURUN_CLONES void BFloat16Parts(const float* from, int64_t n, int part, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16Part(from[i], part);
}

}  // namespace tpurun
