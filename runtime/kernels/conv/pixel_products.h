// The gradient of a convolution's kernel (filter_grad.h) as products of gemm.h over all pixels of
// dy: x' dy for each row kh of the kernel. Row p of that x has the numbers (kw, c) that pixel p of
// dy reads, a copy, with zeros in the place of pads. A kernel of 1 x 1 without pads and strides
// reads x itself.
//
// Every element is one sum over rising (n, oh, ow), in the order of the tiles; a number of dy may
// be multiplied by the 0 of a pad.
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
  // Whether each pixel of dy reads the pixel of x in its place.
  static bool ReadsInPlace(const ConvDims& dims);

  // One group.
  PixelProducts(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                const gemm::Tiles& tiles);

  int64_t ScratchBytes() const { return CopyBytes() + product_.ScratchBytes(d_.kw * d_.c); }
  // Bytes of the copies that a call for so many rows kh and columns f makes.
  int64_t CopiedBytes(int64_t kh, int64_t f) const {
    return kh * (CopyBytes() + product_.CopiedBytes(d_.kw * d_.c, f));
  }
  void Run(const FilterGradArgs& args) const;

 private:
  // Of the copy for one row kh.
  int64_t CopyBytes() const;
  void Copy(const void* x, int64_t kh, void* to) const;

  const ConvDims d_;
  const bool reads_in_place_;
  const gemm::Storage x_storage_, dy_storage_;
  const gemm::Product product_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_PIXEL_PRODUCTS_H_
