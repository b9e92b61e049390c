// The matrix product of all replicas' rows: what a product that sums over the batch is when it is
// summed over replicas too.
#ifndef TPURUN_RUNTIME_OPS_STACKED_MATMUL_H_
#define TPURUN_RUNTIME_OPS_STACKED_MATMUL_H_

#include <memory>

#include "runtime/ir/op_def.h"
#include "runtime/ops/dense.h"

namespace tpurun {

// A collective call on x (K, M), which comes transposed, and y (K, N) of each replica. Each share
// of the rows of z copies its columns of every x and all of every y into scratch memory and runs
// `matmul` there. The plan is that one's for a share, the dense kernel's where shares of two sizes
// would get two kernels, or the reference where `matmul` has no better.
KernelPlan PlanStackedMatMul(const MatMulDims& dims, const OpCall& call, const OpDef& matmul,
                             const Machine& machine);
std::unique_ptr<Kernel> MakeStackedMatMul(const MatMulDims& dims, const OpCall& call,
                                          const OpDef& matmul, const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_STACKED_MATMUL_H_
