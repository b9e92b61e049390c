#include "runtime/ops/onednn/strided_products.h"

#include <utility>

#include "runtime/ops/onednn/steps.h"

namespace tpurun {
namespace {

using dnnl::memory;

class LibraryProduct final : public StridedProduct {
 public:
  LibraryProduct(CallStep step, int64_t scratch_bytes)
      : step_(std::move(step)), scratch_bytes_(scratch_bytes) {
    SetWorkers(1);
  }

  void SetWorkers(int workers) override {
    UseOneThread();
    step_.AddWorkers(workers - workers_);
    workers_ = workers;
  }

  int64_t scratch_bytes() const override { return scratch_bytes_; }

  absl::Status Run(int worker, const void* x, const void* y, float* z, const gemm::Triangle&,
                   void* scratch) const override {
    const void* const operands[] = {x, y};
    void* const result = z;
    return step_.Run(
        {.operands = operands, .results = &result, .scratch = scratch, .worker = worker});
  }

 private:
  CallStep step_;
  const int64_t scratch_bytes_;
  int workers_ = 0;
};

}  // namespace

std::unique_ptr<StridedProduct> MakeLibraryProduct(const StridedProductDef& def, DType operands) {
  const auto type = operands == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
  const memory::desc x({def.m, def.k}, type, {def.x_row, def.x_column});
  const memory::desc y({def.k, def.n}, type, {def.y_row, def.y_column});
  const memory::desc z({def.m, def.n}, memory::data_type::f32, {def.z_row, 1});
  try {
    UseOneThread();
    dnnl::primitive_attr attr = UserScratchpad();
    if (def.accumulates) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attr.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(x, y, z), attr, OneDnnEngine());
    const auto place = [](CallPlace::From from, int64_t index) { return CallPlace{from, index}; };
    CallStep step(dnnl::matmul(pd), {{DNNL_ARG_SRC, x, place(CallPlace::From::kOperand, 0)},
                                     {DNNL_ARG_WEIGHTS, y, place(CallPlace::From::kOperand, 1)},
                                     {DNNL_ARG_DST, z, place(CallPlace::From::kResult, 0)},
                                     {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(),
                                      place(CallPlace::From::kScratch, 0)}});
    return std::make_unique<LibraryProduct>(std::move(step),
                                            static_cast<int64_t>(pd.scratchpad_desc().get_size()));
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace tpurun
