// sink_gather: computes products of a table once, not of each row that is read of it.
#ifndef TPURUN_RUNTIME_COMPILER_SINK_GATHER_H_
#define TPURUN_RUNTIME_COMPILER_SINK_GATHER_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/ir/pass_ops.h"

namespace tpurun {

// An embedding of few words before a product reads the same rows of its table (V, E) many times.
// With ids (N), N several times V, weights w (E, W) and the gradient d (N, W) of the product:
//
//   table[ids] w + bias     becomes  (table w + bias)[ids]
//   table[ids]' d           becomes  table' s,  s (V, W) = scatter_add(ids, d)
//   scatter_add(ids, d w')  becomes  s w'
//
// Where the last two, the gradients of w and of the table, are summed over all replicas, s is
// summed instead, unless it is larger than both. The first keeps every bit with kernels whose rows
// do not depend on their number, as the own ones. The order of the sums of the others changes, and
// therefore their last bits: at DEFAULT precision d, w and the table are rounded to bf16 as before,
// but not s, whose products are those of f32. A row that no id reads is multiplied by 0: where it
// has an infinity or a NaN, the gradient of w has NaNs.
absl::StatusOr<Graph> SinkGather(const Graph& graph, const PassOps& ops);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_SINK_GATHER_H_
