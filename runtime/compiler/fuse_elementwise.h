// fuse_elementwise: chains of element-wise ops become one instruction each, which reads and writes
// every element once.
#ifndef TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_
#define TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// A node goes into the group of its readers when they are all in one: its value is then a register
// of the fused node, and one of its results if it is also a variable's update. Groups whose results
// are only updates become one group for the sake of a node that several of them read, so that the
// whole update of a variable and its slots is one instruction. All of a group have one shape, are
// alike per core or shared, and in the prologue or not. What is an output is the last of its group,
// which has no update: the loss is known before any update is written.
absl::StatusOr<Graph> FuseElementwise(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_FUSE_ELEMENTWISE_H_
