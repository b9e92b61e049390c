// The kernels of batch_matmul: matrix products of pairs of matrices stored one after the other.
#ifndef TPURUN_RUNTIME_OPS_BATCH_MATMUL_H_
#define TPURUN_RUNTIME_OPS_BATCH_MATMUL_H_

#include <memory>
#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ops/gemm_call.h"

namespace tpurun {

// A call on x (B..., M, K) and y (B..., K, N). Work units are entries of the first dimension of B.
// They are computed one after the other, so that the bits of an entry depend on no other entry. The
// reference runs the reference of `matmul` for each product.
std::unique_ptr<Kernel> BatchMatMulReference(const OpCall& call, const OpDef& matmul);
// The library's, with one library call for all products of an entry, and those of gemm_call.h.
std::vector<KernelDef> BatchMatMulKernels(MatMulDims (*dims_of)(const OpCall& call));

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_BATCH_MATMUL_H_
