// fold: a node whose operands are all constants becomes constants.
#ifndef TPURUN_RUNTIME_COMPILER_FOLD_H_
#define TPURUN_RUNTIME_COMPILER_FOLD_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Computed by the reference interpreter. Not for a node that draws random numbers, meets other
// cores or differs between them, has an operand or a result of more than 4096 elements (a constant
// lists its elements), or a result that a constant cannot say (ConstantAttrs).
absl::StatusOr<Graph> FoldConstants(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_FOLD_H_
