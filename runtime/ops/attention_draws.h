// Which weights of an attention are dropped: draws of 16 bits, a function of the place of the
// weight.
#ifndef TPURUN_RUNTIME_OPS_ATTENTION_DRAWS_H_
#define TPURUN_RUNTIME_OPS_ATTENTION_DRAWS_H_

#include <cstdint>

#include "runtime/base/random.h"

namespace tpurun {

// Draws of a block, and keys of a group of kPhiloxLanes blocks: number i of its block b is of key
// i * kPhiloxLanes + b.
inline constexpr int64_t kDrawsOfBlock = 8;
inline constexpr int64_t kGroupKeys = kDrawsOfBlock * kPhiloxLanes;

// A weight is dropped whose draw is below the threshold; the others are multiplied by KeepScale.
uint32_t DrawThreshold(double rate);
float KeepScale(uint32_t threshold);
inline int64_t BlocksPerQuery(int64_t keys) {
  return (keys + kGroupKeys - 1) / kGroupKeys * kPhiloxLanes;
}

// What one worker draws for the weights of a step.
struct WeightDraws {
  uint64_t seed;
  uint32_t stream, step, replica;
  int64_t blocks_per_query;
};

// draws[s] of the keys of `groups` groups from `group` on, for one query; a query is its number
// among those of all examples and heads.
void DrawForKeys(const WeightDraws& of, int64_t query, int64_t group, int64_t groups,
                 uint16_t* draws);
// draws[s * stride + t] of `keys` keys from the first of `group` on, for kPhiloxLanes queries.
void DrawForQueries(const WeightDraws& of, int64_t query, int64_t group, int64_t keys,
                    int64_t stride, uint16_t* draws);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ATTENTION_DRAWS_H_
