// Small matrix products of operands whose rows and columns lie anywhere, as those of the tiles of
// an attention do.
#ifndef TPURUN_RUNTIME_OPS_STRIDED_PRODUCT_H_
#define TPURUN_RUNTIME_OPS_STRIDED_PRODUCT_H_

#include <cstdint>
#include <memory>

#include "runtime/ir/op_def.h"
#include "runtime/ops/precision.h"

namespace tpurun {

// z (m, n) = x (m, k) y (k, n), or z + x y. Strides are in elements, from a row to the next and
// from a column to the next; the columns of z lie one behind the other.
struct StridedProductDef {
  int64_t m = 0, k = 0, n = 0;
  int64_t x_row = 0, x_column = 0;
  int64_t y_row = 0, y_column = 0;
  int64_t z_row = 0;
  bool accumulates = false;
};

// Immutable but for SetWorkers; several workers run it at once.
class StridedProduct {
 public:
  virtual ~StridedProduct() = default;
  virtual void SetWorkers(int) {}
  virtual int64_t scratch_bytes() const { return 0; }
  // x and y are of the type that it was made for; `scratch`, of scratch_bytes, is 64-byte aligned.
  virtual absl::Status Run(int worker, const void* x, const void* y, float* z,
                           void* scratch) const = 0;
};

// Loops over f32 operands: the products of their parts at `precision`, smallest first, each element
// a sum over k in rising order; where rows of x and columns of y lie in one piece each in 16 lanes.
std::unique_ptr<StridedProduct> MakePlainProduct(const StridedProductDef& def, Precision precision);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_STRIDED_PRODUCT_H_
