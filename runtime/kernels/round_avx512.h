// Rounding to bf16 with AVX-512, for the files of that instruction set alone.
#ifndef TPURUN_RUNTIME_KERNELS_ROUND_AVX512_H_
#define TPURUN_RUNTIME_KERNELS_ROUND_AVX512_H_

#include <immintrin.h>

namespace tpurun {
namespace {

// The bits of BFloat16Bits (runtime/base/bfloat16.h) in the lower half of each lane.
inline __m512i RoundedLanes(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x), top = _mm512_srli_epi32(bits, 16);
  const __m512i exponent = _mm512_set1_epi32(0x7f800000);
  const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
  const __m512i half =
      _mm512_add_epi32(_mm512_set1_epi32(0x7fff), _mm512_and_si512(top, _mm512_set1_epi32(1)));
  __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
  const __mmask16 is_subnormal = _mm512_testn_epi32_mask(bits, exponent);
  rounded = _mm512_mask_and_epi32(rounded, is_subnormal, top, _mm512_set1_epi32(0x8000));
  const __mmask16 is_nan = _mm512_cmpgt_epi32_mask(size, exponent);
  return _mm512_mask_or_epi32(rounded, is_nan, top, _mm512_set1_epi32(0x40));
}

}  // namespace
}  // namespace tpurun

#endif  // TPURUN_RUNTIME_KERNELS_ROUND_AVX512_H_
