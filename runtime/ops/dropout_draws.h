// Selects the attention weights to drop: 16-bit random draws that depend only on the position of
// the weight.
#ifndef TPURUN_RUNTIME_OPS_ATTENTION_DRAWS_H_
#define TPURUN_RUNTIME_OPS_ATTENTION_DRAWS_H_

#include <cstdint>

#include "runtime/base/random.h"

namespace tpurun {

// The draws of one Philox block, and the keys of a group of kPhiloxLanes blocks. Draw i of block b
// of the group belongs to key i * kPhiloxLanes + b.
inline constexpr int64_t kDrawsOfBlock = 8;
inline constexpr int64_t kGroupKeys = kDrawsOfBlock * kPhiloxLanes;

// A weight is dropped if its draw is below the threshold. Others are multiplied by KeepScale.
uint32_t DrawThreshold(double rate);
float KeepScale(uint32_t threshold);
inline int64_t BlocksPerQuery(int64_t keys) {
  return (keys + kGroupKeys - 1) / kGroupKeys * kPhiloxLanes;
}

// Identifies the draws of one worker for the weights of one step.
struct WeightDraws {
  uint64_t seed;
  uint32_t stream, step, replica;
  int64_t blocks_per_query;
};

// Sets draws[s] for the keys of `groups` groups, starting at group `group`, for one query. `query`
// counts the queries of all examples and heads.
void DrawForKeys(const WeightDraws& of, int64_t query, int64_t group, int64_t groups,
                 uint16_t* draws);
// Sets draws[s * stride + t] for `keys` keys, starting at the first key of `group`, for
// kPhiloxLanes queries starting at `query`.
void DrawForQueries(const WeightDraws& of, int64_t query, int64_t group, int64_t keys,
                    int64_t stride, uint16_t* draws);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ATTENTION_DRAWS_H_
