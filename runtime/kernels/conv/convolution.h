// Convolutions, and their gradients of x at a stride of 1, on the tiles of runtime/kernels/gemm.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_CONVOLUTION_H_
#define TPURUN_RUNTIME_KERNELS_CONV_CONVOLUTION_H_

#include <cstdint>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/padded_rows.h"
#include "runtime/kernels/gemm/numbers.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

//   y[n,oh,ow,f] = sum over kh, kw, c of x[n, oh*sh + kh*dh - top, ow*sw + kw - left, c]
//                                        kernel[kh,kw,c,f]   (+ bias[f])
//
// Every element is one chain of fused multiply-adds over rising (kh, kw, c), which starts with 0,
// as in gemm.h; the bias is added last. x is 0 outside its bounds; an infinity or a NaN of the
// kernel may be multiplied by that 0 or not.
struct ConvolutionDef {
  ConvDims dims;  // one group, dilations of 1 along the width, no pad below 0
  Numbers x, kernel;
  // The kernel is stored as k (KH, KW, F, C), and kernel[kh,kw,c,f] = k[KH-1-kh, KW-1-kw, f, c].
  // The gradient of x is the convolution of dy with such a kernel.
  bool is_flipped = false;
  gemm::Storage y = gemm::Storage::kF32;
};

struct ConvolutionArgs {
  const void* x = nullptr;  // (N, H, W, C)
  const void* kernel = nullptr;
  const float* bias = nullptr;  // (F); nullptr: none
  void* y = nullptr;            // (N, OH, OW, F)
  int64_t begin = 0, end = 0;   // images
  void* scratch = nullptr;      // ScratchBytes(), 64-byte aligned
};

// Immutable: several threads may run it at the same time.
class Convolution {
 public:
  // C is a multiple of Tiles::numbers.
  Convolution(const ConvolutionDef& def, const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many images makes.
  int64_t CopiedBytes(int64_t images) const;
  void Run(const ConvolutionArgs& args) const;

 private:
  struct Scratch;

  void PackKernel(const void* kernel, const Scratch& scratch) const;
  void PackPixel(const void* kernel, int64_t kh, int64_t kw, float* line, float* panels) const;
  void RunPanel(const ConvolutionArgs& args, const PaddedRows::Block& block, int64_t column,
                const Scratch& scratch) const;

  const ConvolutionDef def_;
  const gemm::Tiles& tiles_;
  const int64_t panel_columns_;
  const int64_t channels_;               // elements of a pixel of x
  const int64_t depth_;                  // elements of a row of the kernel along k
  const int64_t panels_, panel_floats_;  // of the kernel
  const PaddedRows rows_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_CONVOLUTION_H_
