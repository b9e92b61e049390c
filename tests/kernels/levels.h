// The tiles that this processor has, for tests of the kernels made of them.
#ifndef TPURUN_TESTS_KERNELS_LEVELS_H_
#define TPURUN_TESTS_KERNELS_LEVELS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// How the products of numbers are summed.
enum class Order : uint8_t {
  kChain,  // one after the other
  // tdpbf16ps: of 32 numbers along k those with even k and those with odd k, each one after the
  // other, then the two sums, then their sum to z
  kAmx,
};

inline Order OrderOf(const Tiles& tiles) {
  return tiles.depth_unit > 1 ? Order::kAmx : Order::kChain;
}

template <typename X, typename Y>
float Sum(Order order, int64_t k_end, float sum, const X& x, const Y& y) {
  const int64_t unit = order == Order::kAmx ? 32 : 1;
  for (int64_t begin = 0; begin < k_end; begin += unit) {
    if (order == Order::kChain) {
      sum = std::fma(x(begin), y(begin), sum);
      continue;
    }
    float of_parity[] = {0, 0};
    for (int64_t k = begin; k < std::min(begin + unit, k_end); ++k)
      of_parity[k % 2] = std::fma(x(k), y(k), of_parity[k % 2]);
    sum += of_parity[0] + of_parity[1];
  }
  return sum;
}

inline bool MultipliesBF16(const Tiles& tiles) { return tiles.numbers > 1; }

}  // namespace tpurun::gemm

#endif  // TPURUN_TESTS_KERNELS_LEVELS_H_
