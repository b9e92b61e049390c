#include <immintrin.h>

#include "runtime/base/philox_loops.h"

namespace tpurun {
namespace {

struct Avx2Words {
  static constexpr int kLanes = 4;
  using Type = __m256i;
  static Type Load(const uint64_t* from) {
    return _mm256_load_si256(reinterpret_cast<const Type*>(from));
  }
  static Type Of(uint32_t word) { return _mm256_set1_epi64x(word); }
  static Type Product(Type x, Type y) { return _mm256_mul_epu32(x, y); }
  static Type Upper(Type x) { return _mm256_srli_epi64(x, 32); }
  static Type Xor(Type x, Type y, Type z) { return _mm256_xor_si256(x, _mm256_xor_si256(y, z)); }
  static void Store(Type x, uint32_t* to) {
    const Type lower = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(x, lower)));
  }
};

}  // namespace

void DrawPhiloxByAvx2(const PhiloxCounters& of, PhiloxBlocks& blocks) {
  DrawByVectors<Avx2Words>(of, blocks);
}

}  // namespace tpurun
