// layout_assignment: converts weights to the layouts of the kernels that read them, once for all
// cores, and other operands once for all kernels that read them.
#ifndef TPURUN_RUNTIME_COMPILER_LAYOUT_ASSIGNMENT_H_
#define TPURUN_RUNTIME_COMPILER_LAYOUT_ASSIGNMENT_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Adds a `pack` for an operand for which a kernel prefers another dtype or layout
// (KernelOffer::best_operands). All kernels with the same preference share one pack. A pack is
// added in three cases: the operand is in the prologue and its reader is not; or it is a variable
// that all cores share and its reader has enough parts (this pack is loop-carried, replication.h);
// or it is per core and several kernels have the same preference. Exact: the kernel would do the
// same conversion. `pack` is PassOps::pack.
absl::StatusOr<Graph> AssignLayouts(const Graph& graph, const OpDef& pack, const Machine& machine);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_LAYOUT_ASSIGNMENT_H_
