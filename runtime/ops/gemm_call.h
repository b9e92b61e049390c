// Products of runtime/kernels/gemm as kernels of calls.
#ifndef TPURUN_RUNTIME_OPS_GEMM_CALL_H_
#define TPURUN_RUNTIME_OPS_GEMM_CALL_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/ops/precision.h"

namespace tpurun {

// z (m, n) = x y (+ bias (n)). A transposed operand is stored as (k, m) or (n, k).
struct MatMulDims {
  int64_t m, k, n;
  bool transpose_x, transpose_y;
};

// True if a plan's implementation is of PlanGemm: "gemm_avx2", "gemm_plain".
bool IsGemm(std::string_view implementation);

// True if the work units of a matmul are columns of z.
inline bool ByColumns(const OpCall& call) { return OpFlagsOf(call).unit == WorkUnit::kColumns; }

// The implementation for a machine.
std::string_view GemmFor(const Machine& machine);

// True if the library's kernels for products of this precision are worth a try: they use the
// AVX-512 and bf16 instructions that runtime/kernels/gemm does not have.
bool LibraryMultiplies(Precision precision, const Machine& machine);

// The product of operands 0 and 1, without the sum of several (collectives). `products` are some of
// those of the call's precision, in order.
gemm::Def GemmDefOf(const MatMulDims& dims, const OpCall& call, std::vector<gemm::Parts> products);
std::vector<gemm::Parts> GemmProducts(Precision precision);

// The implementation is "gemm_" and the instruction set, or "none" for weights in another layout.
// The kernel prefers packed weights if x is not transposed.
KernelPlan PlanGemm(const MatMulDims& dims, const OpCall& call, const Machine& machine);
// nullptr if this processor lacks the instructions.
std::unique_ptr<Kernel> MakeGemm(const MatMulDims& dims, const OpCall& call,
                                 const KernelPlan& plan);
// The tiles of a plan's implementation. nullptr if this processor lacks the instructions.
const gemm::Tiles* GemmTiles(std::string_view implementation);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_GEMM_CALL_H_
