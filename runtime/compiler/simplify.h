// simplify: identities that hold for every bit pattern.
#ifndef TPURUN_RUNTIME_COMPILER_SIMPLIFY_H_
#define TPURUN_RUNTIME_COMPILER_SIMPLIFY_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Puts what an op says is the same (OpDef::simplify) in a node's place, and scalars in the place of
// element-wise operands whose elements are all one value, until nothing changes. What nothing reads
// any more may stay, for dead_code.
absl::StatusOr<Graph> Simplify(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_SIMPLIFY_H_
