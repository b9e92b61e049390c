// The rounds of Philox4x32-10 for any vector type, for the files of the instruction sets alone.
// Each of them defines `Words` in an unnamed namespace: vectors of kLanes 64-bit lanes. A lane has
// a word in its lower half; the upper half is arbitrary, as Product does not read it. Counters
// gives whole lanes, first + l * stride in lane l. Store writes the words of two vectors.
#ifndef TPURUN_RUNTIME_BASE_PHILOX_LOOPS_H_
#define TPURUN_RUNTIME_BASE_PHILOX_LOOPS_H_

#include "runtime/base/philox.h"

namespace tpurun {

// All vectors at a time hide the latency of the multiplications (two at a time with AVX2: 56, now
// 47 ns for 16 blocks). Nothing is read from memory that was just written in smaller pieces: such a
// load waits until the pieces are in the cache.
template <typename Words>
void DrawByVectors(const PhiloxCounters& of, PhiloxBlocks& blocks) {
  // Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
  constexpr uint32_t kFactor0 = 0xD2511F53, kFactor1 = 0xCD9E8D57;
  constexpr uint32_t kKeyStep0 = 0x9E3779B9, kKeyStep1 = 0xBB67AE85;
  constexpr int kLanes = Words::kLanes, kVectors = kPhiloxLanes / kLanes;
  using Type = typename Words::Type;
  const Type factor0 = Words::Of(kFactor0), factor1 = Words::Of(kFactor1);
  const Type step0 = Words::Of(kKeyStep0), step1 = Words::Of(kKeyStep1);
  Type words[kVectors][4];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    words[v][0] = Words::Counters(of.first + v * kLanes * of.stride, of.stride);
    words[v][1] = Words::Upper(words[v][0]);
    words[v][2] = Words::Of(of.a);
    words[v][3] = Words::Of(of.b);
  }
  Type key0 = Words::Of(of.key0), key1 = Words::Of(of.key1);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Type product0 = Words::Product(words[v][0], factor0);
      const Type product1 = Words::Product(words[v][2], factor1);
      words[v][0] = Words::Xor(Words::Upper(product1), words[v][1], key0);
      words[v][1] = product1;
      words[v][2] = Words::Xor(Words::Upper(product0), words[v][3], key1);
      words[v][3] = product0;
    }
    key0 = Words::Sum(key0, step0);
    key1 = Words::Sum(key1, step1);
  }
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; v += 2) {
#pragma GCC unroll 4
    for (int w = 0; w < 4; ++w)
      Words::Store(words[v][w], words[v + 1][w], blocks.words[w] + v * kLanes);
  }
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_PHILOX_LOOPS_H_
