// The program of a `fused` node: a straight line of element-wise ops over values of one shape. As
// text, in the attribute `program`:
//
//   t0 = square x0; t1 = add x1 t0; t2 = rsqrt t1
//
// x<i> is operand i of the node, t<i> what step i gives. The attribute `results` lists the steps
// whose values are the results of the node.
#ifndef TPURUN_RUNTIME_IR_FUSED_H_
#define TPURUN_RUNTIME_IR_FUSED_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/attrs.h"
#include "runtime/ir/op_def.h"

namespace tpurun {

// The most steps of a program: what a kernel keeps about them fits its stack.
constexpr int kMaxFusedSteps = 32;

struct FusedProgram {
  struct Step {
    const OpDef* op = nullptr;
    std::vector<int> operands;  // i: operand i of the node; operands + i: what step i gives
  };
  int operands = 0;  // of the node
  std::vector<Step> steps;
  std::vector<int64_t> results;  // steps
};

Attrs FusedAttrs(const FusedProgram& program);
// Every op is one with a tile, every step reads what is there before it, and results rise.
absl::StatusOr<FusedProgram> ParseFusedProgram(int operands, const Attrs& attrs);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_FUSED_H_
