// Chains for AVX-512.
#include "runtime/kernels/elementwise/avx512_chain.h"

namespace tpurun::elementwise {

void RunChainAvx512(const Chain& chain, int64_t n) { RunVectors<Avx512Vector>(chain, n); }

}  // namespace tpurun::elementwise

#undef TPURUN_UNROLL
