#include "runtime/ops/strided_product.h"

#include <vector>

#include "runtime/base/fused_multiply_add.h"
#include "runtime/ops/gemm_call.h"

namespace tpurun {
namespace {

class PlainProduct final : public StridedProduct {
 public:
  PlainProduct(const StridedProductDef& def, Precision precision)
      : def_(def), precision_(precision), parts_(PartProducts(precision)) {}

  absl::Status Run(int, const void* x, const void* y, float* z, const gemm::Triangle&,
                   void*) const override {
    const auto* const left = static_cast<const float*>(x);
    const auto* const right = static_cast<const float*>(y);
    for (int64_t i = 0; i < def_.m; ++i) {
      for (int64_t j = 0; j < def_.n; ++j) {
        float& sum = z[i * def_.z_row + j];
        sum = Sum(left + i * def_.x_row, right + j * def_.y_column, def_.accumulates ? sum : 0.0f);
      }
    }
    return absl::OkStatus();
  }

 private:
  // A row of x times a column of y, added to `sum`.
  float Sum(const float* row, const float* column, float sum) const {
    for (const PartProduct part : parts_) {
      for (int64_t k = 0; k < def_.k; ++k) {
        sum = FusedMultiplyAdd(PartOf(row[k * def_.x_column], precision_, part.x),
                               PartOf(column[k * def_.y_row], precision_, part.y), sum);
      }
    }
    return sum;
  }

  const StridedProductDef def_;
  const Precision precision_;
  const std::vector<PartProduct> parts_;
};

gemm::Operand OperandOf(int64_t row, int64_t column, DType stored) {
  const bool transposed = column != 1;
  return {.storage = stored == DType::kBF16 ? gemm::Storage::kBF16 : gemm::Storage::kF32,
          .transposed = transposed,
          .stride = transposed ? column : row};
}

class GemmProduct final : public StridedProduct {
 public:
  GemmProduct(const StridedProductDef& def, Precision precision, DType stored,
              const gemm::Tiles& tiles)
      : m_(def.m),
        n_(def.n),
        product_({.k = def.k,
                  .n = def.n,
                  .x = OperandOf(def.x_row, def.x_column, stored),
                  .y = OperandOf(def.y_row, def.y_column, stored),
                  .products = GemmProducts(precision),
                  .accumulates = def.accumulates,
                  .z_stride = def.z_row},
                 tiles) {}

  int64_t scratch_bytes() const override { return product_.ScratchBytes(m_); }

  absl::Status Run(int, const void* x, const void* y, float* z, const gemm::Triangle& triangle,
                   void* scratch) const override {
    product_.Run(
        {.x = x, .y = y, .z = z, .m = m_, .n = n_, .triangle = triangle, .scratch = scratch});
    return absl::OkStatus();
  }

 private:
  const int64_t m_, n_;
  const gemm::Product product_;
};

}  // namespace

std::unique_ptr<StridedProduct> MakeGemmProduct(const StridedProductDef& def, Precision precision,
                                                DType stored, const gemm::Tiles& tiles) {
  return std::make_unique<GemmProduct>(def, precision, stored, tiles);
}

std::unique_ptr<StridedProduct> MakePlainProduct(const StridedProductDef& def,
                                                 Precision precision) {
  return std::make_unique<PlainProduct>(def, precision);
}

}  // namespace tpurun
