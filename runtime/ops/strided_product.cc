#include "runtime/ops/strided_product.h"

#include <algorithm>

#include "runtime/base/clones.h"

namespace tpurun {
namespace {

// z[j] += x * part `part` of y[j * stride].
TPURUN_CLONES void AddScaled(float x, const float* y, int64_t stride, Precision precision, int part,
                             int64_t n, float* z) {
  if (stride == 1 && precision == Precision::kF32) {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) z[j] += x * y[j];
  } else if (stride == 1) {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) z[j] += x * PartOf(y[j], precision, part);
  } else {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) z[j] += x * PartOf(y[j * stride], precision, part);
  }
}

class PlainProduct final : public StridedProduct {
 public:
  PlainProduct(const StridedProductDef& def, Precision precision)
      : def_(def), precision_(precision) {}

  absl::Status Run(int, const void* x, const void* y, float* z, void*) const override {
    const auto* const left = static_cast<const float*>(x);
    const auto* const right = static_cast<const float*>(y);
    for (int64_t i = 0; i < def_.m; ++i) {
      float* const row = z + i * def_.z_row;
      if (!def_.accumulates) std::fill_n(row, def_.n, 0.0f);
      for (const PartProduct part : PartProducts(precision_)) {
        for (int64_t k = 0; k < def_.k; ++k) {
          const float value = left[i * def_.x_row + k * def_.x_column];
          AddScaled(PartOf(value, precision_, part.x), right + k * def_.y_row, def_.y_column,
                    precision_, part.y, def_.n, row);
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  const StridedProductDef def_;
  const Precision precision_;
};

}  // namespace

std::unique_ptr<StridedProduct> MakePlainProduct(const StridedProductDef& def,
                                                 Precision precision) {
  return std::make_unique<PlainProduct>(def, precision);
}

}  // namespace tpurun
