// Convolutions whose groups have one channel of x and one of y (the depthwise convolutions of
// MobileNet and ConvNeXt):
//
//   y[n,oh,ow,c] = sum over kh, kw of x[n, oh*sh + kh*dh - top, ow*sw + kw*dw - left, c]
//                                     kernel[kh,kw,0,c]   (+ bias[c])
//   dx[n,h,w,c] = sum over oh, ow of dy[n,oh,ow,c] kernel[kh,kw,0,c]
//   dk[kh,kw,0,c] = sum over n, oh, ow of x[...] dy[n,oh,ow,c]
//
// with the order of sums, the pads and the tolerance for infinities of convolution.h and
// filter_grad.h. There is nothing to multiply as a matrix: loops over the channels of a pixel, a
// row of the kernel at a time. The numbers of tiles only say how operands are converted; an element
// is one number (Tiles::numbers).
#ifndef TPURUN_RUNTIME_KERNELS_CONV_DEPTHWISE_H_
#define TPURUN_RUNTIME_KERNELS_CONV_DEPTHWISE_H_

#include <cstdint>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/convolution.h"
#include "runtime/kernels/conv/filter_grad.h"
#include "runtime/kernels/conv/padded_rows.h"
#include "runtime/kernels/conv/phases.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

inline bool IsDepthwise(const ConvDims& dims) {
  return dims.groups > 1 && dims.groups == dims.c && dims.f == dims.c;
}

// Immutable: several threads may run it at the same time.
class DepthwiseConvolution {
 public:
  // IsDepthwise(def.dims), else as of a Convolution. The kernel is plain.
  DepthwiseConvolution(const ConvolutionDef& def, const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many images makes.
  int64_t CopiedBytes(int64_t images) const;
  void Run(const ConvolutionArgs& args) const;

 private:
  DepthwiseConvolution(const ConvolutionDef& def, const ConvolvedImage& image,
                       const gemm::Tiles& tiles);

  int64_t KernelFloats() const;  // of the copy
  int64_t SumFloats() const;     // of a row that is rounded
  void RunRow(const ConvolutionArgs& args, const PaddedRows::Block& block, const Phase& ph,
              const Phase& pw, int64_t row, const float* kernel, float* sums) const;

  const ConvolutionDef def_;
  const Convolved h_, w_;
  const int64_t channels_;
  const bool copies_kernel_;
  const PaddedRows rows_;
};

// Immutable: several threads may run it at the same time.
class DepthwiseFilterGrad {
 public:
  // IsDepthwise(dims).
  DepthwiseFilterGrad(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                      const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many rows kh and columns f makes.
  int64_t CopiedBytes(int64_t kh, int64_t f) const;
  void Run(const FilterGradArgs& args) const;

 private:
  int64_t LineFloats() const;  // of the copy of a row of dy
  const float* RowOfDy(const FilterGradArgs& args, int64_t row, float* line) const;

  const ConvDims d_;
  const Numbers dy_;
  const bool copies_dy_;
  const PaddedRows rows_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_DEPTHWISE_H_
