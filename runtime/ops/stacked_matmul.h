// The matrix product over the stacked rows of all replicas. It replaces a product that sums over
// the batch and is then summed over the replicas.
#ifndef TPURUN_RUNTIME_OPS_STACKED_MATMUL_H_
#define TPURUN_RUNTIME_OPS_STACKED_MATMUL_H_

#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ops/gemm_call.h"

namespace tpurun {

// The kernels of a collective call on x (K, M), which is transposed, and y (K, N) of each replica.
// The library multiplies copies: each share of the rows of z copies its columns of every x, and all
// of every y, to scratch memory and runs `matmul` on them. gemm_call.h's product does so where
// replicas have few rows; else it adds that of one replica after the other, to the same bits.
std::vector<KernelDef> StackedMatMulKernels(MatMulDims (*dims_of)(const OpCall& call),
                                            const OpDef& matmul);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_STACKED_MATMUL_H_
