// The kernels of batch_matmul: matrix products of pairs that lie one behind the other.
#ifndef TPURUN_RUNTIME_OPS_BATCH_MATMUL_H_
#define TPURUN_RUNTIME_OPS_BATCH_MATMUL_H_

#include <memory>

#include "runtime/ir/op_def.h"
#include "runtime/ops/dense.h"

namespace tpurun {

// A call on x (B..., M, K) and y (B..., K, N), each product of which has `dims`. Units are entries
// of the first dimension of B, one computed after the other, so that the bits of one depend on no
// other. The reference is that of `matmul` for each product; a plan is the library's, one call of
// it for the products of an entry, or else the dense kernel's.
std::unique_ptr<Kernel> BatchMatMulReference(const OpCall& call, const OpDef& matmul);
KernelPlan PlanBatchMatMul(const MatMulDims& dims, const OpCall& call, const Machine& machine);
std::unique_ptr<Kernel> MakeBatchMatMul(const MatMulDims& dims, const OpCall& call,
                                        const OpDef& matmul, const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_BATCH_MATMUL_H_
