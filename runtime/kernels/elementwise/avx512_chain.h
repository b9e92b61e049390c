// The vector of the AVX-512 chains, for their files alone.
#ifndef TPURUN_RUNTIME_KERNELS_ELEMENTWISE_AVX512_CHAIN_H_
#define TPURUN_RUNTIME_KERNELS_ELEMENTWISE_AVX512_CHAIN_H_

#include <immintrin.h>

#include "runtime/kernels/elementwise/chain_loops.h"
#include "runtime/kernels/round_avx512.h"

namespace tpurun::elementwise {
namespace {

struct Avx512Vector {
  static constexpr int kLanes = 16;
  using Type = __m512;
  static Type Load(const float* from) { return _mm512_loadu_ps(from); }
  static void Leave() { _mm256_zeroupper(); }
  static Type Broadcast(float x) { return _mm512_set1_ps(x); }
  static Type LoadBF16(const uint16_t* from) {
    return Shifted(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
  }
  static void Store(Type x, float* to) { _mm512_storeu_ps(to, x); }
  static void StoreBF16(Type x, uint16_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(RoundedLanes(x)));
  }
  static void StoreUpperHalves(Type x, uint16_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(x), 16)));
  }
  static Type Add(Type x, Type y) { return _mm512_add_ps(x, y); }
  static Type Subtract(Type x, Type y) { return _mm512_sub_ps(x, y); }
  static Type Multiply(Type x, Type y) { return _mm512_mul_ps(x, y); }
  static Type Divide(Type x, Type y) { return _mm512_div_ps(x, y); }
  static Type Negate(Type x) { return _mm512_xor_ps(x, _mm512_set1_ps(-0.0f)); }
  static Type SquareRoot(Type x) { return _mm512_sqrt_ps(x); }
  static Type Round(Type x) { return Shifted(RoundedLanes(x)); }
  static Type WherePositive(Type x, Type y) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_GT_OQ), x);
  }
  static Type WhereNotNegative(Type x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ), x);
  }
  static Type Shifted(__m512i lanes) { return _mm512_castsi512_ps(_mm512_slli_epi32(lanes, 16)); }
};

}  // namespace
}  // namespace tpurun::elementwise

#endif  // TPURUN_RUNTIME_KERNELS_ELEMENTWISE_AVX512_CHAIN_H_
