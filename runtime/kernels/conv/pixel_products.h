// The gradient of a kernel of 1 x 1 without pads and strides (filter_grad.h): x' dy, a product of
// gemm.h over all pixels, for tiles that read rows of x. Every element is one sum over rising
// (n, oh, ow), in the order of the tiles.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_PIXEL_PRODUCTS_H_
#define TPURUN_RUNTIME_KERNELS_CONV_PIXEL_PRODUCTS_H_

#include <cstdint>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/filter_grad.h"
#include "runtime/kernels/conv/padded_rows.h"
#include "runtime/kernels/gemm/gemm.h"

namespace tpurun::conv {

// Immutable: several threads may run it at the same time.
class PixelProducts {
 public:
  static bool Computes(const ConvDims& dims);

  PixelProducts(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                const gemm::Tiles& tiles);

  int64_t ScratchBytes() const { return product_.ScratchBytes(c_); }
  // Bytes of the copies that a call for so many columns f makes.
  int64_t CopiedBytes(int64_t f) const { return product_.CopiedBytes(c_, f); }
  void Run(const FilterGradArgs& args) const;

 private:
  const int64_t c_;
  const gemm::Storage dy_storage_;
  const gemm::Product product_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_PIXEL_PRODUCTS_H_
