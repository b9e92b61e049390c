// oneDNN's matrix products.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_PRODUCTS_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_PRODUCTS_H_

#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ops/gemm_call.h"

namespace tpurun {

// The kernels of matmul. They have no offer where those of gemm_call.h are faster
// (LibraryMultiplies).
std::vector<KernelDef> LibraryMatMulKernels(MatMulDims (*dims_of)(const OpCall& call));

// For a call on any number of pairs (B..., M, K) and (B..., K, N), which cannot be partitioned.
std::vector<KernelDef> LibraryKernelsOfPairs(MatMulDims (*dims_of)(const OpCall& call));

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_PRODUCTS_H_
