// Products of runtime/kernels/gemm as kernels of calls.
#ifndef TPURUN_RUNTIME_OPS_GEMM_CALL_H_
#define TPURUN_RUNTIME_OPS_GEMM_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/ops/packing.h"
#include "runtime/ops/precision.h"

namespace tpurun {

// z (m, n) = x y (+ bias (n)). A transposed operand is stored as (k, m) or (n, k).
struct MatMulDims {
  int64_t m, k, n;
  bool transpose_x, transpose_y;
};

// True if the work units of a matmul are columns of z.
inline bool ByColumns(const OpCall& call) { return OpFlagsOf(call).unit == WorkUnit::kColumns; }

// True if the library's kernels for products of this precision are asked: with AMX those of several
// products of parts, which runtime/kernels/gemm multiplies as f32.
bool LibraryMultiplies(Precision precision, const Machine& machine);

// The product of operands 0 and 1, without the sum of several (collectives). `products` are some of
// those of the call's precision, in order.
gemm::Def GemmDefOf(const MatMulDims& dims, const OpCall& call, std::vector<gemm::Parts> products);
std::vector<gemm::Parts> GemmProducts(Precision precision);

// The kernels of an op that multiplies with the tiles of runtime/kernels/gemm, one for an
// instruction set, the fastest first: "gemm_amx_bf16" and "gemm_avx512_bf16" (at DEFAULT alone),
// "gemm_avx512", "gemm_avx2", "gemm_plain", or with the name of another algorithm. Their offers and
// makers get the tiles of that set, and each computes any share. The op has the attribute
// `precision`.
std::vector<KernelDef> GemmKernels(
    std::function<std::optional<KernelOffer>(const OpCall& call, const gemm::Tiles& tiles)> offer,
    std::function<std::unique_ptr<Kernel>(const OpCall& call, const gemm::Tiles& tiles)> make,
    const std::string& algorithm = "gemm");

// KernelOffer::native_bf16 of a product or a convolution, whose operand 2 is a bias in f32. Tiles
// of f32 round numbers of f32 at DEFAULT while they pack them. `native_at_default`: they gain even
// so if the numbers are bf16 already.
bool IsNativeBF16(const OpCall& call, const gemm::Tiles& tiles, bool native_at_default);

// How the numbers of an operand are stored.
gemm::Storage StorageOf(const Shape& shape);

// Completes the layout and the dtype of weights that are packed in panels: the numbers of an
// element are neighbours along the dimension `of_k`.
void PackNumbers(Precision precision, const gemm::Tiles& tiles, int of_k, BlockedLayout& layout,
                 Shape& packed);

// For one product. Nothing is offered for weights that are packed in another layout. The kernel
// prefers packed weights if x is not transposed.
std::optional<KernelOffer> OfferGemm(const MatMulDims& dims, const OpCall& call,
                                     const gemm::Tiles& tiles);
std::unique_ptr<Kernel> MakeGemm(const MatMulDims& dims, const OpCall& call,
                                 const gemm::Tiles& tiles);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_GEMM_CALL_H_
