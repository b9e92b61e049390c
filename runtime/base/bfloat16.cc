#include "runtime/base/bfloat16.h"

#include <immintrin.h>

#include "runtime/base/clones.h"
#include "runtime/base/instruction_sets.h"

namespace tpurun {
namespace {

TPURUN_CLONES void RoundPlainly(const float* from, int64_t n, uint16_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16Bits(from[i]);
}

TPURUN_CLONES void RoundInFloatPlainly(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = RoundToBFloat16(from[i]);
}

#define TPURUN_BF16_INSTRUCTION [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]]

TPURUN_BF16_INSTRUCTION void RoundByInstruction(const float* from, int64_t n, uint16_t* to) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(from + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), reinterpret_cast<__m256i>(rounded));
  }
  for (; i < n; ++i) to[i] = BFloat16Bits(from[i]);
}

TPURUN_BF16_INSTRUCTION inline __m512i RoundedLanes(__m512 numbers) {
  const auto rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(numbers));
  return _mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded), 16);
}

TPURUN_BF16_INSTRUCTION void RoundInFloatByInstruction(const float* from, int64_t n, float* to) {
  constexpr int64_t kLanes = 16;
  int64_t i = 0;
  // Whole vectors without a mask: a load of what a masked store has written waits long.
  for (; i + kLanes <= n; i += kLanes)
    _mm512_storeu_si512(to + i, RoundedLanes(_mm512_loadu_ps(from + i)));
  if (i == n) return;
  const auto rest = static_cast<__mmask16>((1u << (n - i)) - 1);
  _mm512_mask_storeu_epi32(to + i, rest, RoundedLanes(_mm512_maskz_loadu_ps(rest, from + i)));
}

#undef TPURUN_BF16_INSTRUCTION

}  // namespace

bool HasBFloat16Instruction() {
  static const bool has = InstructionSets::OfThisProcessor().avx512_bf16;
  return has;
}

void RoundToBFloat16(const float* from, int64_t n, uint16_t* to) {
  HasBFloat16Instruction() ? RoundByInstruction(from, n, to) : RoundPlainly(from, n, to);
}

TPURUN_CLONES void FromBFloat16(const uint16_t* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = FromBFloat16Bits(from[i]);
}

void RoundInFloat(const float* from, int64_t n, float* to) {
  HasBFloat16Instruction() ? RoundInFloatByInstruction(from, n, to)
                           : RoundInFloatPlainly(from, n, to);
}

}  // namespace tpurun
