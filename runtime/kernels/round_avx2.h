// Rounding to bf16 with AVX2, for the files of that instruction set alone.
#ifndef TPURUN_RUNTIME_KERNELS_ROUND_AVX2_H_
#define TPURUN_RUNTIME_KERNELS_ROUND_AVX2_H_

#include <immintrin.h>

namespace tpurun {
namespace {

// The bits of BFloat16Bits (runtime/base/bfloat16.h) in the lower half of each lane.
inline __m256i RoundedLanes(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x), top = _mm256_srli_epi32(bits, 16);
  const __m256i exponent = _mm256_set1_epi32(0x7f800000);
  const __m256i size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i half =
      _mm256_add_epi32(_mm256_set1_epi32(0x7fff), _mm256_and_si256(top, _mm256_set1_epi32(1)));
  __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
  const __m256i is_subnormal =
      _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), _mm256_setzero_si256());
  rounded =
      _mm256_blendv_epi8(rounded, _mm256_and_si256(top, _mm256_set1_epi32(0x8000)), is_subnormal);
  const __m256i is_nan = _mm256_cmpgt_epi32(size, exponent);
  return _mm256_blendv_epi8(rounded, _mm256_or_si256(top, _mm256_set1_epi32(0x40)), is_nan);
}

// Lanes of at most 16 bits, as such.
inline __m128i LowerHalves(__m256i lanes) {
  return _mm_packus_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
}

}  // namespace
}  // namespace tpurun

#endif  // TPURUN_RUNTIME_KERNELS_ROUND_AVX2_H_
