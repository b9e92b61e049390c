// relu and relu_grad on values stored in bf16.
#ifndef TPURUN_RUNTIME_IR_NARROW_RELU_H_
#define TPURUN_RUNTIME_IR_NARROW_RELU_H_

#include <memory>

#include "runtime/ir/op_def.h"

namespace tpurun {

bool AnyNarrow(const OpCall& call);  // an operand is bf16

// x bf16 -> max(x, 0) bf16; NaN stays NaN.
std::unique_ptr<Kernel> MakeNarrowRelu(const OpCall& call);
// dy where y > 0, else 0; dx has dy's dtype, y is f32 or bf16.
std::unique_ptr<Kernel> MakeNarrowReluGrad(const OpCall& call);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_NARROW_RELU_H_
