#include "runtime/ops/strided_product.h"

#include <algorithm>
#include <vector>

#include "runtime/base/clones.h"
#include "runtime/ops/gemm_call.h"

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

constexpr int64_t kDotLanes = 16;

// The sum of the products of n contiguous elements of x and y. It is summed in kDotLanes
// interleaved lanes, then the lanes are summed in a tree.
[[gnu::always_inline]] inline float DotOfParts(const float* x, const float* y, int64_t n,
                                               Precision precision, PartProduct part) {
  float lanes[kDotLanes] = {};
  int64_t k = 0;
  for (; k + kDotLanes <= n; k += kDotLanes) {
    for (int64_t l = 0; l < kDotLanes; ++l) {
      lanes[l] += PartOf(x[k + l], precision, part.x) * PartOf(y[k + l], precision, part.y);
    }
  }
  for (int64_t l = 0; k < n; ++k, ++l)
    lanes[l] += PartOf(x[k], precision, part.x) * PartOf(y[k], precision, part.y);
  for (int64_t width = kDotLanes / 2; width > 0; width /= 2) {
    for (int64_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

// z[j] += the dot product of a row of x and row j of y.
TPURUN_CLONES void AddDots(const float* x, const float* y, int64_t y_stride, int64_t length,
                           Precision precision, PartProduct part, int64_t n, float* z) {
  if (precision == Precision::kF32) {
    for (int64_t j = 0; j < n; ++j)
      z[j] += DotOfParts(x, y + j * y_stride, length, Precision::kF32, {0, 0});
  } else if (precision == Precision::kDefault) {
    for (int64_t j = 0; j < n; ++j)
      z[j] += DotOfParts(x, y + j * y_stride, length, Precision::kDefault, {0, 0});
  } else {
    for (int64_t j = 0; j < n; ++j)
      z[j] += DotOfParts(x, y + j * y_stride, length, precision, part);
  }
}

class PlainProduct final : public StridedProduct {
 public:
  PlainProduct(const StridedProductDef& def, Precision precision)
      : def_(def), precision_(precision), parts_(PartProducts(precision)) {}

  absl::Status Run(int, const void* x, const void* y, float* z, void*) const override {
    const auto* const left = static_cast<const float*>(x);
    const auto* const right = static_cast<const float*>(y);
    for (int64_t i = 0; i < def_.m; ++i) {
      float* const row = z + i * def_.z_row;
      if (!def_.accumulates) std::fill_n(row, def_.n, 0.0f);
      for (const PartProduct part : parts_) {
        if (def_.x_column == 1 && def_.y_row == 1) {
          AddDots(left + i * def_.x_row, right, def_.y_column, def_.k, precision_, part, def_.n,
                  row);
          continue;
        }
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
  const std::vector<PartProduct> parts_;
};

gemm::Operand OperandOf(int64_t row, int64_t column) {
  const bool transposed = column != 1;
  return {.transposed = transposed, .stride = transposed ? column : row};
}

class GemmProduct final : public StridedProduct {
 public:
  GemmProduct(const StridedProductDef& def, Precision precision, const gemm::Tiles& tiles)
      : m_(def.m),
        product_({.k = def.k,
                  .n = def.n,
                  .x = OperandOf(def.x_row, def.x_column),
                  .y = OperandOf(def.y_row, def.y_column),
                  .products = GemmProducts(precision),
                  .accumulates = def.accumulates,
                  .z_stride = def.z_row},
                 tiles) {}

  int64_t scratch_bytes() const override { return product_.ScratchBytes(m_); }

  absl::Status Run(int, const void* x, const void* y, float* z, void* scratch) const override {
    product_.Run({.x = x, .y = y, .z = z, .m = m_, .scratch = scratch});
    return absl::OkStatus();
  }

 private:
  const int64_t m_;
  const gemm::Product product_;
};

}  // namespace

std::unique_ptr<StridedProduct> MakeGemmProduct(const StridedProductDef& def, Precision precision,
                                                const gemm::Tiles& tiles) {
  return std::make_unique<GemmProduct>(def, precision, tiles);
}

std::unique_ptr<StridedProduct> MakePlainProduct(const StridedProductDef& def,
                                                 Precision precision) {
  return std::make_unique<PlainProduct>(def, precision);
}

}  // namespace tpurun
