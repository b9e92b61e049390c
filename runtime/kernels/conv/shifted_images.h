// The gradient of a convolution's kernel (filter_grad.h) as products over all pixels of y, for
// tiles that read rows of x.
//
// Line c of a copy of an image holds the numbers of channel c, pixel after pixel, row of pixels
// after row of pixels, with the pads. Entry (kh, kw) of the kernel reads pixel (oh + a, ow + b) for
// pixel (oh, ow) of y, with a and b that do not depend on the pixel: all entries multiply the same
// copy, each from another number on. The rows of dy have pixels of zeros behind them, as many as b
// has values but one. With strides, the pixels that are a stride apart are a copy of their own.
//
// Every element is one sum over rising (n, oh, ow), in the order of the tiles; a number of x beside
// the last pixel of a row is multiplied by a 0.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_SHIFTED_IMAGES_H_
#define TPURUN_RUNTIME_KERNELS_CONV_SHIFTED_IMAGES_H_

#include <cstdint>
#include <vector>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/filter_grad.h"
#include "runtime/kernels/conv/padded_rows.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

// Immutable: several threads may run it at the same time.
class ShiftedImages {
 public:
  // One group, dilations of 1 along the width.
  ShiftedImages(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many rows kh and columns f makes.
  int64_t CopiedBytes(int64_t kh, int64_t f) const;
  void Run(const FilterGradArgs& args) const;

 private:
  // The pixels along one dimension that are `stride` apart, and those that the kernel's entries
  // read. Pixel p of y reads pixel (p + shift + first) * stride + phase of x.
  struct Axis {
    Axis(int64_t stride, int64_t dilation, int64_t pad, int64_t kernel);

    int64_t first = 0, shifts = 0;
    std::vector<int64_t> phases;           // that any entry reads
    std::vector<int64_t> phase_of, shift;  // [entry]: index in `phases`
  };

  int64_t ImageFloats() const {
    return std::ssize(h_.phases) * std::ssize(w_.phases) * d_.c * line_elements_;
  }
  int64_t PanelFloats() const;
  int64_t GroupFloats() const;
  void CopyImage(const FilterGradArgs& args, int64_t image, float* to, float* block) const;
  void CopyPhase(const FilterGradArgs& args, int64_t image, int64_t phase_h, int64_t phase_w,
                 float* to, float* block) const;
  void CopyDy(const FilterGradArgs& args, int64_t image, int64_t place, float* panels) const;
  void RunGroup(const FilterGradArgs& args, int64_t images, bool accumulates) const;

  const ConvDims d_;
  const Numbers x_, dy_;
  const gemm::Tiles& tiles_;
  const Axis h_, w_;
  const int64_t row_pixels_;     // of a row of a copy, and of dy with its zeros
  const int64_t depth_;          // elements along the pixels of an image of dy
  const int64_t line_elements_;  // of a channel of a copy
  const int64_t panel_columns_;
  const int64_t images_;  // that are copied at a time
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_SHIFTED_IMAGES_H_
