// Convolutions and their gradients of x on the tiles of runtime/kernels/gemm.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_CONVOLUTION_H_
#define TPURUN_RUNTIME_KERNELS_CONV_CONVOLUTION_H_

#include <cstdint>
#include <optional>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/padded_rows.h"
#include "runtime/kernels/conv/phases.h"
#include "runtime/kernels/gemm/numbers.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

//   y[n,oh,ow,f] = sum over kh, kw, c of x[n, oh*sh + kh*dh - top, ow*sw + kw*dw - left, c]
//                                        kernel[kh,kw,c,f]   (+ bias[f])
//   dx[n,h,w,c] = sum over oh, ow, f of dy[n,oh,ow,f] kernel[kh,kw,c,f],
//                 where h = oh*sh + kh*dh - top and w = ow*sw + kw*dw - left
//
// Every element is one chain of fused multiply-adds over rising (kh, kw, c) or (oh, ow, f), which
// starts with 0, as in gemm.h; the bias is added last. x and dy are 0 outside their bounds; an
// infinity or a NaN of the kernel may be multiplied by that 0 or not.
struct ConvolutionDef {
  // One group, no pad below 0. For the gradient of x the dilation or the stride of each axis is 1.
  ConvDims dims;
  bool is_input_grad = false;
  Numbers operand, kernel;        // x or dy, (KH, KW, C, F)
  bool kernel_is_packed = false;  // see PackedKernel
  gemm::Storage result = gemm::Storage::kF32;
};

struct ConvolutionArgs {
  const void* operand = nullptr;  // x (N, H, W, C), or dy (N, OH, OW, F)
  const void* kernel = nullptr;
  const float* bias = nullptr;  // (F); nullptr: none
  void* result = nullptr;       // y (N, OH, OW, F), or dx (N, H, W, C)
  int64_t begin = 0, end = 0;   // images
  void* scratch = nullptr;      // ScratchBytes(), 64-byte aligned
};

// True if the pixels that a row of the kernel reads are neighbours, or if a Convolution of the dims
// can go from one to the next: the kernel has few rows. Only few pixels of a row of the copy lie
// outside of the operand.
bool ReachesPixels(const ConvDims& dims);

// A kernel that is packed for a Convolution: panels of gemm::PanelColumns of the channels of the
// result, each with the elements of every pixel (kh, kw) of the kernel one after the other. Of a
// gradient of x the pixels come in falling order. Columns behind the last channel are 0.
struct PackedKernel {
  int64_t columns = 0;  // of a panel
  int64_t panels = 0;
  int64_t pixel_elements = 0;  // for each column, along the channels of the operand
  bool falls = false;          // the pixels of a gradient of x

  int64_t Floats(const ConvDims& dims) const {
    return panels * dims.kh * dims.kw * pixel_elements * columns;
  }
};

// Immutable: several threads may run it at the same time.
class Convolution {
 public:
  // True if the operand's channels are a multiple of Tiles::numbers, or, of y, if elements of
  // neighbours among the kw * C numbers that a pixel reads are faster than f32 tiles. With pixels
  // between those that it reads along the width, only few rows of the kernel.
  static bool Fills(const ConvolutionDef& def, const gemm::Tiles& tiles);

  // How the kernel can be packed before the call. nullopt: it is packed by each call. It has few
  // numbers, its elements are neighbours among kw * C numbers (Fills), or its pixels are in several
  // phases (phases.h).
  static std::optional<PackedKernel> Packing(const ConvolutionDef& def, const gemm::Tiles& tiles);

  // Fills(def, tiles).
  Convolution(const ConvolutionDef& def, const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many images makes.
  int64_t CopiedBytes(int64_t images) const;
  void Run(const ConvolutionArgs& args) const;

 private:
  struct Scratch;
  struct Panel;

  Convolution(const ConvolutionDef& def, const ConvolvedImage& image, const gemm::Tiles& tiles);

  int64_t DepthOf(int64_t taps) const;
  int64_t KernelFloats() const;
  int64_t LineFloats() const;
  template <typename F>
  void ForEachPanel(F f) const;
  void PackKernel(const void* kernel, const Scratch& scratch) const;
  void PackPixel(const void* pixel, int64_t column, float* line, float* to) const;
  void PackWindow(const void* row, int64_t column, float* to) const;
  void RunPanel(const ConvolutionArgs& args, const PaddedRows::Block& block, const Panel& panel,
                const float* panels) const;

  const ConvolutionDef def_;
  const gemm::Tiles& tiles_;
  const Convolved h_, w_;
  const int64_t in_, out_;        // channels of the operand, of the result
  const int64_t panel_columns_;   // of out_
  const bool pairs_windows_;      // PaddedRows::Pairs::kWindows, else kChannels
  const int64_t pixel_elements_;  // of the operand; unused if pairs_windows_
  const int64_t panels_;          // of each phase
  const PaddedRows rows_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_CONVOLUTION_H_
