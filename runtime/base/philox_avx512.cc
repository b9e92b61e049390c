#include <immintrin.h>

#include "runtime/base/philox_loops.h"

namespace tpurun {
namespace {

struct Avx512Words {
  static constexpr int kLanes = 8;
  using Type = __m512i;
  // GCC 12 warns of the forms without a mask (bug 105593).
  static constexpr __mmask8 kAll = 0xff;
  static Type Counters(uint64_t first, uint64_t stride) {
    const Type lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm512_add_epi64(
        _mm512_set1_epi64(static_cast<int64_t>(first)),
        _mm512_mullo_epi64(lanes, _mm512_set1_epi64(static_cast<int64_t>(stride))));
  }
  static Type Of(uint32_t word) { return _mm512_set1_epi64(word); }
  static Type Product(Type x, Type y) { return _mm512_maskz_mul_epu32(kAll, x, y); }
  static Type Upper(Type x) { return _mm512_maskz_srli_epi64(kAll, x, 32); }
  static Type Xor(Type x, Type y, Type z) { return _mm512_ternarylogic_epi64(x, y, z, 0x96); }
  static Type Sum(Type x, Type y) { return _mm512_add_epi64(x, y); }
  static void Store(Type x, Type next, uint32_t* to) {
    const Type lower = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi32(x, lower, next));
  }
};

}  // namespace

void DrawPhiloxByAvx512(const PhiloxCounters& of, PhiloxBlocks& blocks) {
  DrawByVectors<Avx512Words>(of, blocks);
}

}  // namespace tpurun
