// bfloat16_propagation: a value that is only ever read rounded to bf16 is stored so.
#ifndef TPURUN_RUNTIME_COMPILER_BFLOAT16_PROPAGATION_H_
#define TPURUN_RUNTIME_COMPILER_BFLOAT16_PROPAGATION_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// A value is stored in bf16 when every path from it ends in an operand that a kernel rounds and
// takes in bf16 for less (OpFlags::rounds, KernelPlan::native_bf16), through operands that commute
// with rounding or of which only the sign is read. Its producer rounds it (attribute `out`), or a
// convert does; a value that others read in f32 is converted once for two or more that round it.
// The same bits, by the ops' definitions.
absl::StatusOr<Graph> PropagateBFloat16(const Graph& graph, const Machine& machine);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_BFLOAT16_PROPAGATION_H_
