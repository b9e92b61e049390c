// fold: replaces a node whose operands are all constants by constants.
#ifndef TPURUN_RUNTIME_COMPILER_FOLD_H_
#define TPURUN_RUNTIME_COMPILER_FOLD_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// The reference interpreter computes the constants. A node is not folded if it draws random
// numbers, is a collective, differs between cores, has an operand or a result of more than 4096
// elements (a constant lists its elements), or has a result that a constant cannot express
// (ConstantAttrs).
absl::StatusOr<Graph> FoldConstants(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_FOLD_H_
