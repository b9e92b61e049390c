// cse: of nodes that compute the same, one is kept.
#ifndef TPURUN_RUNTIME_COMPILER_CSE_H_
#define TPURUN_RUNTIME_COMPILER_CSE_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// The same op, attributes and operands; a variable read twice is read once. Never random nodes, and
// not the node that computes a variable's update: it is to write the variable itself, late, when
// the old value and the loss have been looked at.
absl::StatusOr<Graph> MergeEqualNodes(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_CSE_H_
