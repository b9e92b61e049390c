// Selects the values that dropout sets to 0, among the elements of an array or the weights of
// attention: 16-bit random draws that depend only on the position of the value.
#ifndef TPURUN_RUNTIME_OPS_DROPOUT_DRAWS_H_
#define TPURUN_RUNTIME_OPS_DROPOUT_DRAWS_H_

#include <cstdint>

#include "runtime/base/random.h"

namespace tpurun {

// The draws of one Philox block, and the values of a group of kPhiloxLanes blocks. Draw i of block
// b of the group belongs to value i * kPhiloxLanes + b: draws 2 w and 2 w + 1 are the lower and the
// upper half of word w.
inline constexpr int64_t kDrawsOfBlock = 8;
inline constexpr int64_t kGroupValues = kDrawsOfBlock * kPhiloxLanes;

// A value is dropped if its draw is below the threshold. Others are multiplied by KeepScale.
uint32_t DrawThreshold(double rate);
float KeepScale(uint32_t threshold);

// Identifies the draws of one replica in one step.
struct DropoutStream {
  uint64_t seed;
  uint32_t stream, step, replica;
};
// Sets `draws` for the kGroupValues values of the group that begins with block `block`.
void DrawGroup(const DropoutStream& of, uint64_t block, uint16_t* draws);

inline int64_t BlocksPerQuery(int64_t keys) {
  return (keys + kGroupValues - 1) / kGroupValues * kPhiloxLanes;
}

// Identifies the draws of the attention weights of one replica in one step.
struct WeightDraws {
  DropoutStream source;
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

#endif  // TPURUN_RUNTIME_OPS_DROPOUT_DRAWS_H_
