// Chains for every processor, and the plain form of those of the instruction sets.
#include "runtime/kernels/elementwise/chain_loops.h"

namespace tpurun::elementwise {

void RunChainPlain(const Chain& chain, int64_t n) {
  RunBlocks<Element, 1>(chain, RunBlocks<Element, 8>(chain, 0, n), n);
}

}  // namespace tpurun::elementwise

#undef TPURUN_UNROLL
