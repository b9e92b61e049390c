#include "runtime/ops/dropout_draws.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/clones.h"

namespace tpurun {
namespace {

constexpr double kDraws = 65536;

// Blocks first + l * stride.
PhiloxBlocks Draw(const DropoutStream& of, uint64_t first, uint64_t stride) {
  PhiloxBlocks blocks;
  DrawPhiloxBlocks(of.seed, of.stream, of.step, of.replica, first, stride, blocks);
  return blocks;
}

}  // namespace

uint32_t DrawThreshold(double rate) {
  // At least one draw keeps its value, because rate < 1.
  return static_cast<uint32_t>(std::min(std::round(rate * kDraws), kDraws - 1));
}

float KeepScale(uint32_t threshold) { return static_cast<float>(1 / (1 - threshold / kDraws)); }

TPURUN_CLONES void DrawGroup(const DropoutStream& of, uint64_t block, uint16_t* draws) {
  const PhiloxBlocks blocks = Draw(of, block, 1);
  for (int w = 0; w < 4; ++w) {
    uint16_t* const low = draws + int64_t{2} * w * kPhiloxLanes;
#pragma GCC ivdep
    for (int l = 0; l < kPhiloxLanes; ++l) {
      low[l] = static_cast<uint16_t>(blocks.words[w][l]);
      low[kPhiloxLanes + l] = static_cast<uint16_t>(blocks.words[w][l] >> 16);
    }
  }
}

void DrawForKeys(const WeightDraws& of, int64_t query, int64_t group, int64_t groups,
                 uint16_t* draws) {
  for (int64_t g = 0; g < groups; ++g) {
    DrawGroup(of.source, query * of.blocks_per_query + (group + g) * kPhiloxLanes,
              draws + g * kGroupValues);
  }
}

TPURUN_CLONES void DrawForQueries(const WeightDraws& of, int64_t query, int64_t group, int64_t keys,
                                  int64_t stride, uint16_t* draws) {
  for (int64_t b = 0; b < std::min<int64_t>(keys, kPhiloxLanes); ++b) {
    const PhiloxBlocks blocks = Draw(
        of.source, query * of.blocks_per_query + group * kPhiloxLanes + b, of.blocks_per_query);
    for (int64_t i = 0; i < kDrawsOfBlock && i * kPhiloxLanes + b < keys; ++i) {
      const uint32_t* const words = blocks.words[i / 2];
      uint16_t* const to = draws + (i * kPhiloxLanes + b) * stride;
      const int shift = i % 2 == 0 ? 0 : 16;
#pragma GCC ivdep
      for (int l = 0; l < kPhiloxLanes; ++l) to[l] = static_cast<uint16_t>(words[l] >> shift);
    }
  }
}

}  // namespace tpurun
