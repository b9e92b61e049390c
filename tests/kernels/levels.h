// The tiles that this processor has, for tests of the kernels made of them.
#ifndef TPURUN_TESTS_KERNELS_LEVELS_H_
#define TPURUN_TESTS_KERNELS_LEVELS_H_

#include <vector>

#include "runtime/base/instruction_sets.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::gemm {

struct Level {
  const char* name;
  const Tiles* tiles;
};

inline std::vector<Level> Levels() {
  const InstructionSets sets = InstructionSets::OfThisProcessor();
  std::vector<Level> levels = {{"plain", &kPlainTiles}};
  if (sets.avx2) levels.push_back({"avx2", &kAvx2Tiles});
  if (sets.avx512) levels.push_back({"avx512", &kAvx512Tiles});
  if (sets.avx512_bf16) levels.push_back({"avx512_bf16", &kAvx512BFloat16Tiles});
  if (sets.amx_bf16) levels.push_back({"amx_bf16", &kAmxBFloat16Tiles});
  return levels;
}

inline bool MultipliesBF16(const Tiles& tiles) { return tiles.numbers > 1; }

}  // namespace tpurun::gemm

#endif  // TPURUN_TESTS_KERNELS_LEVELS_H_
