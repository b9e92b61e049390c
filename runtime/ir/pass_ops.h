// The ops of runtime/ops that compiler passes find or create, by role. The compiler's caller passes
// them in.
#ifndef TPURUN_RUNTIME_IR_PASS_OPS_H_
#define TPURUN_RUNTIME_IR_PASS_OPS_H_

#include "runtime/ir/op_def.h"

namespace tpurun {

struct PassOps {
  // {program, results}: operands x0, x1, ... of a TileProgram, scalars or of one shape -> the
  // values of the steps listed in `results`.
  const OpDef* fused = nullptr;
  // {program, dims}: operands x0, x1, ... of a RowProgram -> the values that it returns.
  const OpDef* fused_rows = nullptr;
  // PackAttrs: x (plain layout) -> x in the layout that a kernel prefers.
  const OpDef* pack = nullptr;
  // {dims}: x -> its elements in the same order with these dimensions.
  const OpDef* reshape = nullptr;
  // A product of matrices, rows of a table by ids, sums of rows by ids.
  const OpDef* matmul = nullptr;
  const OpDef* gather = nullptr;
  const OpDef* scatter_add = nullptr;
};

// The attributes {dtype, layout, bytes} of the op that converts a value to the shape `packed`.
inline Attrs PackAttrs(const Shape& packed) {
  return {{"dtype", packed.dtype}, {"layout", packed.layout.name}, {"bytes", packed.layout.bytes}};
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_PASS_OPS_H_
