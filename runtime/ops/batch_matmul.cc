#include "runtime/ops/batch_matmul.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "runtime/ops/onednn/products.h"

namespace tpurun {
namespace {

// The call for x and y without their first `axes` dimensions.
OpCall Without(std::ptrdiff_t axes, const OpCall& call) {
  OpCall one = call;
  one.parts = 1;
  one.rows = 0;
  for (std::vector<Shape>* shapes : {&one.operands, &one.results}) {
    for (Shape& shape : *shapes) shape.dims.erase(shape.dims.begin(), shape.dims.begin() + axes);
  }
  return one;
}

OpCall OneEntry(const OpCall& call) { return Without(1, call); }
OpCall OneProduct(const OpCall& call) { return Without(call.results[0].rank() - 2, call); }

// Runs a kernel for `one` on each entry of the leading dimensions that `call` has and `one` does
// not have.
class OneByOne final : public Kernel {
 public:
  OneByOne(const OpCall& call, const OpCall& one, std::unique_ptr<Kernel> kernel)
      : kernel_(std::move(kernel)),
        rows_(one.results[0].dims[0]),
        x_bytes_(one.operands[0].bytes()),
        y_bytes_(one.operands[1].bytes()),
        z_bytes_(one.results[0].bytes()) {
    for (int i = 1; i < call.results[0].rank() - one.results[0].rank(); ++i)
      per_unit_ *= call.results[0].dims[i];
  }

  void SetWorkers(int workers) override { kernel_->SetWorkers(workers); }

  absl::Status Run(const KernelArgs& args) const override {
    const auto* const x = static_cast<const std::byte*>(args.operands[0]);
    const auto* const y = static_cast<const std::byte*>(args.operands[1]);
    auto* const z = static_cast<std::byte*>(args.results[0]);
    for (int64_t i = args.begin * per_unit_; i < args.end * per_unit_; ++i) {
      const void* const operands[] = {x + i * x_bytes_, y + i * y_bytes_};
      void* const result = z + i * z_bytes_;
      absl::Status status = kernel_->Run({.operands = operands,
                                          .results = &result,
                                          .scratch = args.scratch,
                                          .worker = args.worker,
                                          .begin = 0,
                                          .end = rows_});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const int64_t rows_, x_bytes_, y_bytes_, z_bytes_;
  int64_t per_unit_ = 1;
};

std::unique_ptr<Kernel> ForEach(const OpCall& one, const OpCall& call,
                                std::unique_ptr<Kernel> kernel) {
  if (kernel == nullptr) return nullptr;
  return std::make_unique<OneByOne>(call, one, std::move(kernel));
}

}  // namespace

std::unique_ptr<Kernel> BatchMatMulReference(const OpCall& call, const OpDef& matmul) {
  const OpCall one = OneProduct(call);
  return ForEach(one, call, matmul.reference(one));
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
               return ForEach(one, call, pairs.make(one, offer));
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
    return ForEach(one, call, MakeGemm(dims_of(call), one, tiles));
  };
  for (KernelDef& kernel : GemmKernels(offer, make)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace tpurun
