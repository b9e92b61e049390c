// Rounding to bf16 with AVX2, for the files of that instruction set alone.
#ifndef TPURUN_RUNTIME_KERNELS_ROUND_AVX2_H_
#define TPURUN_RUNTIME_KERNELS_ROUND_AVX2_H_

#include <immintrin.h>

namespace tpurun {
namespace {

// RoundToBFloat16 of runtime/base/bfloat16.h, but that all NaNs become one.
inline __m256 Rounded(__m256 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const __m256i bits = _mm256_castps_si256(x), odd = _mm256_set1_epi32(1);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), odd);
  const __m256 added = _mm256_castsi256_ps(
      _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), even));
  const __m256 or_nan = _mm256_or_ps(added, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  // Keeps the upper half; of a subnormal number the sign alone.
  const __m256 stays =
      _mm256_cmp_ps(_mm256_andnot_ps(sign, x), _mm256_set1_ps(0x1p-126f), _CMP_NLT_UQ);
  const __m256 upper = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xffff0000u)));
  return _mm256_and_ps(or_nan, _mm256_blendv_ps(sign, upper, stays));
}

// The bits of Rounded in the lower half of each lane.
inline __m256i RoundedLanes(__m256 x) {
  return _mm256_srli_epi32(_mm256_castps_si256(Rounded(x)), 16);
}

// Lanes of at most 16 bits, as such.
inline __m128i LowerHalves(__m256i lanes) {
  return _mm_packus_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
}

}  // namespace
}  // namespace tpurun

#endif  // TPURUN_RUNTIME_KERNELS_ROUND_AVX2_H_
