// pack: weights are brought into the layouts of the kernels that read them, once for all cores, and
// what several kernels read once for all of these.
#ifndef TPURUN_RUNTIME_COMPILER_LAYOUT_ASSIGNMENT_H_
#define TPURUN_RUNTIME_COMPILER_LAYOUT_ASSIGNMENT_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// An operand that a kernel would like in another dtype or layout (KernelPlan::best_operands) gets a
// `pack`, one for all that like it the same, where it is in the prologue and its reader is not, or
// is a variable of which all cores have the same value: that pack is carried from step to step
// (replication.h), if enough parts read it, or is a core's own and several kernels like it so.
// Exact: the kernel would do the same. `pack` is PassOps::pack.
absl::StatusOr<Graph> AssignLayouts(const Graph& graph, const OpDef& pack, const Machine& machine);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_LAYOUT_ASSIGNMENT_H_
