// The kernels of attention and of its gradient. N examples, T queries, S keys, H heads. D is the
// width of queries and keys, E the width of values.
//
// Scores are computed in tiles of at most 128 queries and 256 keys of one head and are never
// written to a larger array. Forward visits the key tiles in order and keeps the maximum and the
// sum of each query so far (Milakov, Gimelshein 2018; Dao et al. 2022). If a tile has a larger
// maximum, sum and result are multiplied by exp(old - new). The gradient recomputes the weights
// from the statistics that forward stores for each query. With `causal`, tiles without a visible
// score are skipped, and so are the parts of a product that no visible score needs.
#ifndef TPURUN_RUNTIME_OPS_ATTENTION_H_
#define TPURUN_RUNTIME_OPS_ATTENTION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ops/precision.h"

namespace tpurun {

// A call of attention or of its gradient. The last ints are operand indices; -1: no such operand.
struct Attention {
  explicit Attention(const OpCall& call, bool is_gradient);

  bool is_gradient;
  int64_t queries, keys, heads, key_dim, value_dim;
  Precision precision;
  float scale;
  bool causal;
  double rate;  // fraction of the weights that are dropped
  uint64_t seed;
  uint32_t stream;
  int dy = -1, q = 0, k = 1, v = 2, y = -1, statistics = -1;
  int mask = -1, step = -1, replica = -1;
};

// Allocates scratch memory in each call. Products are plain loops.
std::unique_ptr<Kernel> AttentionReference(const Attention& attention, const OpCall& call);
// With products of the library and of gemm_call.h.
std::vector<KernelDef> AttentionKernels(bool is_gradient);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ATTENTION_H_
