// Chains for AVX-512 with bf16.
#include "runtime/kernels/elementwise/avx512_chain.h"

namespace tpurun::elementwise {
namespace {

struct BFloat16Vector : Avx512Vector {
  static void StoreBF16(Type x, uint16_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
  }
  static Type Round(Type x) {
    return Shifted(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x))));
  }
};

}  // namespace

constinit const Chains kAvx512BFloat16Chains = ChainsOf<BFloat16Vector>();

}  // namespace tpurun::elementwise
