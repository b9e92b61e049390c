#include <immintrin.h>

#include "runtime/base/philox_loops.h"

namespace tpurun {
namespace {

struct Avx512Words {
  static constexpr int kLanes = 8;
  using Type = __m512i;
  // GCC 12 warns of the forms without a mask (bug 105593).
  static constexpr __mmask8 kAll = 0xff;
  static Type Load(const uint64_t* from) { return _mm512_load_si512(from); }
  static Type Of(uint32_t word) { return _mm512_set1_epi64(word); }
  static Type Product(Type x, Type y) { return _mm512_maskz_mul_epu32(kAll, x, y); }
  static Type Upper(Type x) { return _mm512_maskz_srli_epi64(kAll, x, 32); }
  static Type Xor(Type x, Type y, Type z) { return _mm512_ternarylogic_epi64(x, y, z, 0x96); }
  static void Store(Type x, uint32_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi64_epi32(kAll, x));
  }
};

}  // namespace

void DrawPhiloxByAvx512(const PhiloxCounters& of, PhiloxBlocks& blocks) {
  DrawByVectors<Avx512Words>(of, blocks);
}

}  // namespace tpurun
