// The ops of runtime/ops that passes create, by their roles: whoever compiles hands them in.
#ifndef TPURUN_RUNTIME_IR_PASS_OPS_H_
#define TPURUN_RUNTIME_IR_PASS_OPS_H_

#include "runtime/ir/op_def.h"

namespace tpurun {

struct PassOps {
  // {program, results}: operands x0, x1, ... of a TileProgram, of one shape or scalars -> what the
  // steps `results` give.
  const OpDef* fused = nullptr;
  // PackAttrs: x (plain) -> x in the layout that a kernel likes.
  const OpDef* pack = nullptr;
};

// The attributes {dtype, layout, bytes} of what brings a value into the shape `packed`.
inline Attrs PackAttrs(const Shape& packed) {
  return {{"dtype", packed.dtype}, {"layout", packed.layout.name}, {"bytes", packed.layout.bytes}};
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_PASS_OPS_H_
