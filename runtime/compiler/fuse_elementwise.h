// fuse_elementwise: chains of element-wise ops become one instruction each, which reads and writes
// every element once.
#ifndef TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_
#define TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// x (D...), s () -> y1, y2, ... (D...): the nodes of a group have one shape (D...), are alike per
// core or shared, and in the prologue or not; what they read from outside has that shape or is a
// scalar s. y1, y2, ... are the group's last value and the updates that it computes; every other
// value of it is a register.
//
// A node joins the group of its readers when they are all in one. Groups whose results are updates
// alone become one group for the sake of a node that several of them read: g (D...), slot (D...),
// v (D...) -> the new slot and the new v, the whole update of a variable, is one instruction. An
// output is the last value of its group, and that group has no update: the loss is known before any
// update is written.
// `fused` is PassOps::fused.
absl::StatusOr<Graph> FuseElementwise(const Graph& graph, const OpDef& fused);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_
