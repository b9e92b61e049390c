#include <immintrin.h>

#include "runtime/base/philox_loops.h"

namespace tpurun {
namespace {

struct Avx2Words {
  static constexpr int kLanes = 4;
  using Type = __m256i;
  static Type Counters(uint64_t first, uint64_t stride) {
    const auto at = [&](uint64_t lane) { return static_cast<int64_t>(first + lane * stride); };
    return _mm256_setr_epi64x(at(0), at(1), at(2), at(3));
  }
  static Type Of(uint32_t word) { return _mm256_set1_epi64x(word); }
  static Type Sum(Type x, Type y) { return _mm256_add_epi64(x, y); }
  static Type Product(Type x, Type y) { return _mm256_mul_epu32(x, y); }
  static Type Upper(Type x) { return _mm256_srli_epi64(x, 32); }
  static Type Xor(Type x, Type y, Type z) { return _mm256_xor_si256(x, _mm256_xor_si256(y, z)); }
  static void Store(Type x, Type next, uint32_t* to) {
    // In each half 2 words of x, then 2 of `next`.
    const __m256 words = _mm256_shuffle_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(next), 0x88);
    _mm256_storeu_si256(reinterpret_cast<Type*>(to),
                        _mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8));
  }
};

}  // namespace

void DrawPhiloxByAvx2(const PhiloxCounters& of, PhiloxBlocks& blocks) {
  DrawByVectors<Avx2Words>(of, blocks);
}

}  // namespace tpurun
