// The kernels of attention and of its gradient. N examples, T queries, S keys, H heads, D the width
// of a query and of a key, E that of a value.
//
// Scores are computed a tile at a time, of at most 128 queries and 256 keys of one head, and never
// written anywhere else. Forward goes tile by tile along the keys with the maximum and the sum of
// each query so far (Milakov, Gimelshein 2018; Dao et al. 2022): where a tile has a larger maximum,
// sum and result are multiplied by exp(old - new). The gradient computes the weights again from
// what forward leaves of each query. Under `causal` tiles without a visible score are left out.
#ifndef TPURUN_RUNTIME_OPS_ATTENTION_H_
#define TPURUN_RUNTIME_OPS_ATTENTION_H_

#include <cstdint>
#include <memory>

#include "runtime/ir/op_def.h"
#include "runtime/ops/precision.h"

namespace tpurun {

// A call of either op; which operand is what, -1: there is none.
struct Attention {
  explicit Attention(const OpCall& call, bool is_gradient);

  bool is_gradient;
  int64_t queries, keys, heads, key_dim, value_dim;
  Precision precision;
  float scale;
  bool causal;
  double rate;  // of the weights that are dropped
  uint64_t seed;
  uint32_t stream;
  int dy = -1, q = 0, k = 1, v = 2, y = -1, statistics = -1;
  int mask = -1, step = -1, replica = -1;
};

// With scratch memory of its own; products are plain loops.
std::unique_ptr<Kernel> AttentionReference(const Attention& attention, const OpCall& call);
// "onednn_bf16", "onednn_f32", or "tiles": products are plain loops.
KernelPlan PlanAttention(const Attention& attention, const OpCall& call, const Machine& machine);
std::unique_ptr<Kernel> MakeAttention(const Attention& attention, const OpCall& call,
                                      const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ATTENTION_H_
