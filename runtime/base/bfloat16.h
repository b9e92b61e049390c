// The one rounding function from f32 to bf16 that the whole program uses, so that numbers are those
// of a TPU.
#ifndef TPURUN_RUNTIME_BASE_BFLOAT16_H_
#define TPURUN_RUNTIME_BASE_BFLOAT16_H_

#include <bit>
#include <cstdint>

namespace tpurun {

// Rounds to the nearest, ties to even. Overflow becomes infinity, a NaN stays a (quiet) NaN, and a
// subnormal becomes zero with the same sign, as docs.cloud.google.com/tpu/docs/bfloat16 says.
[[gnu::always_inline]] inline uint16_t BFloat16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), top = bits >> 16;
  uint32_t rounded = (bits + 0x7fffu + (top & 1u)) >> 16;
  rounded = (bits & 0x7f800000u) == 0 ? top & 0x8000u : rounded;
  rounded = (bits & 0x7fffffffu) > 0x7f800000u ? top | 0x40u : rounded;
  return static_cast<uint16_t>(rounded);
}

[[gnu::always_inline]] inline float FromBFloat16Bits(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

[[gnu::always_inline]] inline float RoundToBFloat16(float value) {
  return FromBFloat16Bits(BFloat16Bits(value));
}

// True if the processor has vcvtneps2bf16 and vcvtne2ps2bf16. They round every f32 to the bits of
// BFloat16Bits, whatever MXCSR says (Intel 64 and IA-32 Architectures Software Developer's Manual,
// volume 2).
bool HasBFloat16Instruction();

// to[i] = the bits of from[i] rounded by BFloat16Bits.
void RoundToBFloat16(const float* from, int64_t n, uint16_t* to);
// to[i] = the value of from[i].
void FromBFloat16(const uint16_t* from, int64_t n, float* to);
// to[i] = from[i] rounded to bf16 and kept as f32. to may be from.
void RoundInFloat(const float* from, int64_t n, float* to);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_BFLOAT16_H_
