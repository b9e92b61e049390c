// oneDNN's matrix products.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_PRODUCTS_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_PRODUCTS_H_

#include <memory>

#include "runtime/ir/op_def.h"
#include "runtime/ops/gemm_call.h"

namespace tpurun {

// onednn.h lists the implementations of a plan.
KernelPlan PlanMatMul(const MatMulDims& dims, const OpCall& call, const Machine& machine);
std::unique_ptr<Kernel> MakeMatMul(const MatMulDims& dims, const OpCall& call,
                                   const KernelPlan& plan);

// For a call on any number of pairs (B..., M, K) and (B..., K, N), which cannot be partitioned.
KernelPlan PlanMatMulOfPairs(const MatMulDims& dims, const OpCall& call, const Machine& machine);
std::unique_ptr<Kernel> MakeMatMulOfPairs(const MatMulDims& dims, const OpCall& call,
                                          const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_PRODUCTS_H_
