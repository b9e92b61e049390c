// simplify: applies identities that hold for every bit pattern.
#ifndef TPURUN_RUNTIME_COMPILER_SIMPLIFY_H_
#define TPURUN_RUNTIME_COMPILER_SIMPLIFY_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Replaces nodes by the simpler equivalents that their ops name (OpDef::simplify), and element-wise
// operands with one value in all elements by scalars, until nothing changes. Nodes that nothing
// reads any more may remain for dead_code.
absl::StatusOr<Graph> Simplify(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_SIMPLIFY_H_
