#include "runtime/ops/batch_matmul.h"

#include <algorithm>
#include <cstddef>
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

KernelPlan PlanBatchMatMul(const MatMulDims& dims, const OpCall& call, const Machine& machine) {
  if (LibraryMultiplies(PrecisionOf(call.attrs), machine)) {
    KernelPlan plan = PlanMatMulOfPairs(dims, OneEntry(call), machine);
    if (plan.implementation != KernelPlan().implementation) return plan;
  }
  KernelPlan plan = PlanGemm(dims, OneProduct(call), machine);
  // Each y is multiplied once.
  plan.best_operands.clear();
  plan.takes_bias = false;
  plan.copied_bytes *= call.results[0].num_elements() / std::max<int64_t>(dims.m * dims.n, 1);
  return plan;
}

std::unique_ptr<Kernel> MakeBatchMatMul(const MatMulDims& dims, const OpCall& call,
                                        const OpDef& matmul, const KernelPlan& plan) {
  if (plan.implementation == KernelPlan().implementation) return BatchMatMulReference(call, matmul);
  const bool own = IsGemm(plan.implementation);
  const OpCall one = own ? OneProduct(call) : OneEntry(call);
  return ForEach(one, call, own ? MakeGemm(dims, one, plan) : MakeMatMulOfPairs(dims, one, plan));
}

}  // namespace tpurun
