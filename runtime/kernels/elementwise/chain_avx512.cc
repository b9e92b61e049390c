// Chains for AVX-512.
#include "runtime/kernels/elementwise/avx512_chain.h"

namespace tpurun::elementwise {

constinit const Chains kAvx512Chains = ChainsOf<Avx512Vector>();

}  // namespace tpurun::elementwise
