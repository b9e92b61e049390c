#include "runtime/ops/own_scratch.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace tpurun {
namespace {

class OwnScratch final : public Kernel {
 public:
  OwnScratch(std::unique_ptr<Kernel> kernel, int64_t scratch_bytes)
      : kernel_(std::move(kernel)), scratch_bytes_(scratch_bytes) {}

  void SetWorkers(int workers) override { kernel_->SetWorkers(workers); }
  absl::Status Run(const KernelArgs& args) const override {
    constexpr int64_t kAlignment = 64;
    std::vector<std::byte> memory(scratch_bytes_ + kAlignment);
    KernelArgs with_scratch = args;
    with_scratch.scratch =
        memory.data() + kAlignment - reinterpret_cast<uintptr_t>(memory.data()) % kAlignment;
    return kernel_->Run(with_scratch);
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const int64_t scratch_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> WithOwnScratch(std::unique_ptr<Kernel> kernel, int64_t scratch_bytes) {
  return std::make_unique<OwnScratch>(std::move(kernel), scratch_bytes);
}

}  // namespace tpurun
