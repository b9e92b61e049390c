// bfloat16_propagation: stores in bf16 the values that are only read rounded to bf16.
#ifndef TPURUN_RUNTIME_COMPILER_BFLOAT16_PROPAGATION_H_
#define TPURUN_RUNTIME_COMPILER_BFLOAT16_PROPAGATION_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// A value is stored in bf16 if every path from it ends in an operand that a kernel rounds and reads
// in bf16 at less cost (OpFlags::rounds, KernelOffer::native_bf16). Such a path may pass through
// operands that commute with rounding or whose sign only is read. The producer of the value rounds
// it (attribute `out`), or a convert does. If other readers need f32, the value is converted once
// for two or more readers that round it. By the ops' definitions the result has the same bits.
absl::StatusOr<Graph> PropagateBFloat16(const Graph& graph, const Machine& machine);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_BFLOAT16_PROPAGATION_H_
