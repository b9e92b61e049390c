#include "runtime/ops/entries.h"

#include <cstddef>
#include <utility>

namespace tpurun {
namespace {

class OneByOne final : public Kernel {
 public:
  OneByOne(const OpCall& call, const OpCall& one, std::unique_ptr<Kernel> kernel)
      : kernel_(std::move(kernel)),
        units_(Units(one)),
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
                                          .end = units_});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const int64_t units_, x_bytes_, y_bytes_, z_bytes_;
  int64_t per_unit_ = 1;
};

}  // namespace

OpCall EntryOf(const OpCall& call, int axes) {
  OpCall one = call;
  one.parts = 1;
  one.rows = 0;
  one.attrs.Erase(kBatchDims);
  for (std::vector<Shape>* shapes : {&one.operands, &one.results}) {
    for (Shape& shape : *shapes) shape.dims.erase(shape.dims.begin(), shape.dims.begin() + axes);
  }
  return one;
}

std::unique_ptr<Kernel> ForEachEntry(const OpCall& one, const OpCall& call,
                                     std::unique_ptr<Kernel> kernel) {
  if (kernel == nullptr) return nullptr;
  return std::make_unique<OneByOne>(call, one, std::move(kernel));
}

}  // namespace tpurun
