// Chains for AVX2.
#include <immintrin.h>

#include "runtime/kernels/elementwise/chain_loops.h"
#include "runtime/kernels/round_avx2.h"

namespace tpurun::elementwise {
namespace {

struct Avx2Vector {
  static constexpr int kLanes = 8;
  using Type = __m256;
  static Type Load(const float* from) { return _mm256_loadu_ps(from); }
  static void Leave() { _mm256_zeroupper(); }
  static Type Broadcast(float x) { return _mm256_set1_ps(x); }
  static Type LoadBF16(const uint16_t* from) {
    return Shifted(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  static void Store(Type x, float* to) { _mm256_storeu_ps(to, x); }
  static void StoreBF16(Type x, uint16_t* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), LowerHalves(RoundedLanes(x)));
  }
  static void StoreUpperHalves(Type x, uint16_t* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     LowerHalves(_mm256_srli_epi32(_mm256_castps_si256(x), 16)));
  }
  static Type Add(Type x, Type y) { return _mm256_add_ps(x, y); }
  static Type Subtract(Type x, Type y) { return _mm256_sub_ps(x, y); }
  static Type Multiply(Type x, Type y) { return _mm256_mul_ps(x, y); }
  static Type Divide(Type x, Type y) { return _mm256_div_ps(x, y); }
  static Type Negate(Type x) { return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)); }
  static Type SquareRoot(Type x) { return _mm256_sqrt_ps(x); }
  static Type Round(Type x) { return Rounded(x); }
  static Type WherePositive(Type x, Type y) {
    return _mm256_and_ps(x, _mm256_cmp_ps(y, _mm256_setzero_ps(), _CMP_GT_OQ));
  }
  static Type WhereNotNegative(Type x) {
    return _mm256_and_ps(x, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NLE_UQ));
  }

 private:
  static Type Shifted(__m256i lanes) { return _mm256_castsi256_ps(_mm256_slli_epi32(lanes, 16)); }
};

}  // namespace

constinit const Chains kAvx2Chains = ChainsOf<Avx2Vector>();

}  // namespace tpurun::elementwise
