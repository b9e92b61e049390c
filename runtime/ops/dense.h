// The project's own kernel for small matrix products, for which a library call costs more than it
// saves. Its results equal the reference bit for bit: each sum runs over k in rising order, in f32.
#ifndef TPURUN_RUNTIME_OPS_DENSE_H_
#define TPURUN_RUNTIME_OPS_DENSE_H_

#include <cstdint>
#include <memory>

#include "runtime/ir/op_def.h"

namespace tpurun {

// z (m, n) = x y (+ bias (n)). A transposed operand is stored as (k, m) or (n, k).
struct MatMulDims {
  int64_t m, k, n;
  bool transpose_x, transpose_y;
};

inline constexpr char kDenseKernel[] = "dense";

// The implementation is "dense", or "reference" at a precision that splits the operands.
KernelPlan PlanDense(const MatMulDims& dims, const OpCall& call);
std::unique_ptr<Kernel> MakeDense(const MatMulDims& dims, const OpCall& call);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_DENSE_H_
