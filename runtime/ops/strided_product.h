// Small matrix products of operands with any row and column stride, for the tiles of attention.
#ifndef TPURUN_RUNTIME_OPS_STRIDED_PRODUCT_H_
#define TPURUN_RUNTIME_OPS_STRIDED_PRODUCT_H_

#include <cstdint>
#include <memory>

#include "runtime/ir/op_def.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/ops/precision.h"

namespace tpurun {

// z (m, n) = x (m, k) y (k, n), or z + x y if `accumulates`. Strides are in elements, from one row
// to the next and from one column to the next. The columns of z are contiguous.
struct StridedProductDef {
  int64_t m = 0, k = 0, n = 0;
  int64_t x_row = 0, x_column = 0;
  int64_t y_row = 0, y_column = 0;
  int64_t z_row = 0;
  bool accumulates = false;
};

// Immutable except for SetWorkers. Several workers may run it at the same time.
class StridedProduct {
 public:
  virtual ~StridedProduct() = default;
  virtual void SetWorkers(int) {}
  virtual int64_t scratch_bytes() const { return 0; }
  // x and y have the type that the product was made for. Elements outside the triangle may be
  // computed too. `scratch` has scratch_bytes() bytes and is 64-byte aligned.
  virtual absl::Status Run(int worker, const void* x, const void* y, float* z,
                           const gemm::Triangle& triangle, void* scratch) const = 0;
};

// Plain loops over f32 operands. Each element is one chain of fused multiply-adds over rising k,
// for the products of the parts at `precision` smallest first.
std::unique_ptr<StridedProduct> MakePlainProduct(const StridedProductDef& def, Precision precision);

// The same sums as one chain of fused multiply-adds for each element (runtime/kernels/gemm). x and
// y are of dtype `stored` and have contiguous rows or contiguous columns.
std::unique_ptr<StridedProduct> MakeGemmProduct(const StridedProductDef& def, Precision precision,
                                                DType stored, const gemm::Tiles& tiles);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_STRIDED_PRODUCT_H_
