// fuse_elementwise: turns chains of element-wise ops into one instruction each, which reads and
// writes every element once.
#ifndef TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_
#define TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// x (D...), s () -> y1, y2, ... (D...). The nodes of a group have one shape (D...). They are all
// per core or all shared, and all in the prologue or all outside it. A value that they read from
// outside the group has that shape, or is a scalar s or an f32 row. y1, y2, ... are the group's
// last value and the updates that the group computes. All its other values are in registers.
//
// A node is added to the group of its readers if all of them are in one group. Groups whose results
// are only updates are merged if several of them read one node: g (D...), slot (D...), v (D...) ->
// the new slot and the new v, so the whole update of a variable is one instruction. An output is
// the last value of its group, and that group has no update: the loss is therefore known before any
// update is written.
// A value that several groups read is computed in each of them, instead of being stored, if that is
// one operation on a value that is stored anyway: x - mean of a batch normalization.
// `fused` is PassOps::fused.
absl::StatusOr<Graph> FuseElementwise(const Graph& graph, const OpDef& fused);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_
