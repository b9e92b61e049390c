// bf16 conversion around an f32 kernel: bf16 operands are converted to f32, and an f32 result is
// rounded to bf16 once, when it is stored (see the comment of OpDef, "How values are stored").
#ifndef TPURUN_RUNTIME_IR_BF16_CONVERSION_H_
#define TPURUN_RUNTIME_IR_BF16_CONVERSION_H_

#include <cstdint>
#include <memory>

#include "runtime/ir/op_def.h"

namespace tpurun {

// True if an operand or result 0 is bf16.
bool HasBF16(const OpCall& call);
// The same call with f32 instead of bf16, and these operands in OpCall::rounded_operands.
OpCall InF32(const OpCall& call);

// Runs the call with `wide`, the kernel of InF32(call). If the op has no kernels of its own
// (OpDef::kernels), conversion and kernel work on tiles of about 1024 elements. Otherwise a whole
// part is converted at once, because the kernel may accept parts of one size only. The conversion
// uses the first ConversionBytes(call) bytes of scratch memory, the kernel the bytes after them.
int64_t ConversionBytes(const OpCall& call);
// The bytes of all f32 copies that all parts make (KernelOffer::copied_bytes).
int64_t ConvertedBytes(const OpCall& call);
std::unique_ptr<Kernel> WithConversions(const OpCall& call, std::unique_ptr<Kernel> wide);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_BF16_CONVERSION_H_
