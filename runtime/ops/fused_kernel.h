// The kernel of `fused`.
#ifndef TPURUN_RUNTIME_OPS_FUSED_KERNEL_H_
#define TPURUN_RUNTIME_OPS_FUSED_KERNEL_H_

#include <memory>

#include "runtime/ir/op_def.h"
#include "runtime/kernels/elementwise/chain.h"
#include "runtime/ops/kernel_levels.h"

namespace tpurun {

// Runs the steps of the attribute `program` on one tile of elements after the other. Steps in a
// row that are operations of a chain (OpDef::chain_op) are run by `chains`, so that their values
// stay in vector registers; other steps, or without `chains` all, are run one by one
// (OpDef::tile). Operands and results may be f32, bf16 or pred, scalars f32 or pred, rows
// f32.
std::unique_ptr<Kernel> FusedKernel(const OpCall& call, const elementwise::Chains* chains);

// The chains of an instruction set.
const elementwise::Chains& ChainsOf(KernelLevel level);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_FUSED_KERNEL_H_
