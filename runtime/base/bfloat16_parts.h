// The bf16 numbers that an f32 number is the sum of, for products of f32 numbers on a processor
// that multiplies bf16 (XLA's precisions HIGH and HIGHEST).
#ifndef TPURUN_RUNTIME_BASE_BFLOAT16_PARTS_H_
#define TPURUN_RUNTIME_BASE_BFLOAT16_PARTS_H_

#include <cstdint>

#include "runtime/base/bfloat16.h"

namespace tpurun {

// Part 0 is the number rounded to bf16. Part 1 is the rest, rounded. Part 2 is the rest after both,
// rounded. The first two equal the number to 16 bits, all three to 24 bits.
[[gnu::always_inline]] inline float BFloat16Part(float value, int part) {
  const float high = RoundToBFloat16(value);
  if (part == 0) return high;
  const float middle = RoundToBFloat16(value - high);
  return part == 1 ? middle : RoundToBFloat16(value - high - middle);
}

// to[i] = the part of from[i]. `to` may be `from`.
void BFloat16Parts(const float* from, int64_t n, int part, float* to);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_BFLOAT16_PARTS_H_
