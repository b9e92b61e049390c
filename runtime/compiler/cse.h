// cse: merges nodes that compute the same value.
#ifndef TPURUN_RUNTIME_COMPILER_CSE_H_
#define TPURUN_RUNTIME_COMPILER_CSE_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Merges nodes with the same op, attributes and operands. A variable that is read twice is then
// read once. Random nodes are never merged. Nor is the node that computes a variable's update: it
// writes the variable in place, late in the step, after all reads of the old value and after the
// loss check.
absl::StatusOr<Graph> MergeEqualNodes(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_CSE_H_
