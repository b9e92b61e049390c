// The gradient of a convolution's kernel (filter_grad.h) as products of gemm.h over all pixels of
// y, for tiles that read rows of x.
//
// Row kh of the kernel is patches' dy: row (n, oh, ow) of `patches` holds the numbers of the KW
// pixels of x that pixel (n, oh, ow) of y reads for that kh, and zeros where they are outside of x.
// Without pads and strides, the patches of a kernel of 1 x 1 are x itself. Every element is one sum
// over rising (n, oh, ow), in the order of the tiles.
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
  // One group, dilations of 1 along the width.
  PixelProducts(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                const gemm::Tiles& tiles);

  // Of the copies of patches for a kh; 0 if they are x itself.
  int64_t PatchesBytes() const;
  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many kh and f makes.
  int64_t CopiedBytes(int64_t kh, int64_t f) const;
  void Run(const FilterGradArgs& args) const;

 private:
  bool ReadsX() const;
  int64_t patch() const { return d_.kw * d_.c; }  // numbers of a patch
  void CopyPatches(const void* x, int64_t kh, void* to) const;

  const ConvDims d_;
  const gemm::Storage x_storage_, dy_storage_;
  const gemm::Product product_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_PIXEL_PRODUCTS_H_
