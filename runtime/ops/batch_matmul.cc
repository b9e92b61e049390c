#include "runtime/ops/batch_matmul.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/ops/entries.h"
#include "runtime/ops/onednn/products.h"

namespace tpurun {
namespace {

OpCall OneEntry(const OpCall& call) { return EntryOf(call, 1); }
OpCall OneProduct(const OpCall& call) { return EntryOf(call, call.results[0].rank() - 2); }

}  // namespace

std::unique_ptr<Kernel> BatchMatMulReference(const OpCall& call, const OpDef& matmul) {
  const OpCall one = OneProduct(call);
  return ForEachEntry(one, call, matmul.reference(one));
}

std::vector<KernelDef> BatchMatMulKernels(MatMulDims (*dims_of)(const OpCall& call)) {
  std::vector<KernelDef> kernels;
  for (const KernelDef& pairs : LibraryKernelsOfPairs(dims_of)) {
    kernels.push_back(
        {.name = pairs.name,
         .is_library = true,
         .multiplies_bf16 = pairs.multiplies_bf16,
         .offer = [pairs](const OpCall& call,
                          const Machine& machine) { return pairs.offer(OneEntry(call), machine); },
         .make =
             [pairs](const OpCall& call, const KernelOffer& offer) {
               const OpCall one = OneEntry(call);
               return ForEachEntry(one, call, pairs.make(one, offer));
             }});
  }
  const auto offer = [dims_of](const OpCall& call, const gemm::Tiles& tiles) {
    const MatMulDims dims = dims_of(call);
    std::optional<KernelOffer> of_one = OfferGemm(dims, OneProduct(call), tiles);
    if (!of_one) return of_one;
    // Each y is multiplied once.
    of_one->best_operands.clear();
    of_one->copied_bytes *= call.results[0].num_elements() / std::max<int64_t>(dims.m * dims.n, 1);
    return of_one;
  };
  const auto make = [dims_of](const OpCall& call, const gemm::Tiles& tiles) {
    const OpCall one = OneProduct(call);
    return ForEachEntry(one, call, MakeGemm(dims_of(call), one, tiles));
  };
  for (KernelDef& kernel : GemmKernels(offer, make)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace tpurun
