// The edges of a kernel: bf16 operands become the f32 numbers that they are, and an f32 result is
// rounded to bf16, once, where it is stored (OpDef, "What a value is stored in").
#ifndef TPURUN_RUNTIME_IR_BF16_CONVERSION_H_
#define TPURUN_RUNTIME_IR_BF16_CONVERSION_H_

#include <cstdint>
#include <memory>

#include "runtime/ir/op_def.h"

namespace tpurun {

// An operand or result 0 is bf16.
bool HasBF16(const OpCall& call);
// The same with f32 in the place of bf16.
OpCall InF32(const OpCall& call);

// The call by a kernel of the widened one. An op without kernels of its own (OpDef::plan) is run on
// tiles of about 1024 elements; of another the whole part is converted, as its kernel may know
// parts of one size only. Of scratch memory the first EdgesBytes(call) are for the conversion, what
// comes behind is the kernel's.
int64_t ConversionBytes(const OpCall& call);
std::unique_ptr<Kernel> WithConversions(const OpCall& call, std::unique_ptr<Kernel> wide);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_BF16_CONVERSION_H_
