// Blocks of Philox4x32-10 (random.h) by the vectors of an instruction set. One file per instruction
// set is compiled with its own options. It therefore includes no header whose inline functions
// other files share.
#ifndef TPURUN_RUNTIME_BASE_PHILOX_H_
#define TPURUN_RUNTIME_BASE_PHILOX_H_

#include <cstdint>

namespace tpurun {

inline constexpr int kPhiloxLanes = 16;
// words[w][l] is word w of block l.
struct PhiloxBlocks {
  uint32_t words[4][kPhiloxLanes];
};

// The counter of block l is (lower half, upper half of first + l * stride, a, b), {key0, key1} is
// the key.
struct PhiloxCounters {
  uint64_t first, stride;
  uint32_t a, b, key0, key1;
};

void DrawPhiloxByAvx2(const PhiloxCounters& of, PhiloxBlocks& blocks);
void DrawPhiloxByAvx512(const PhiloxCounters& of, PhiloxBlocks& blocks);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_PHILOX_H_
