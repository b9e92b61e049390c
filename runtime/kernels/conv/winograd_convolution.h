// Convolutions and their gradients of x by Winograd's minimal filtering (winograd_transforms.h), on
// the tiles of runtime/kernels/gemm: for each of points x points planes, a product (tiles of
// pixels, channels) (channels, channels of the result).
//
// A sum has other bits than a chain of products has. An image's bits do not depend on the other
// images, the partition or the instruction set. With 3 x 3 taps, errors are those of chains; with
// 5 x 5 taps they are 2 to 3 times as large (root mean squares, random numbers). An infinity
// reaches the pixels that read it, as by the definition, but mostly as a NaN.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_CONVOLUTION_H_
#define TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_CONVOLUTION_H_

#include <array>
#include <cstdint>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/convolution.h"
#include "runtime/kernels/conv/phases.h"
#include "runtime/kernels/conv/winograd_tiles.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

// True for square kernels with transforms, strides and dilations of 1, one group, and pads that are
// narrower than the kernel.
bool HasWinograd(const ConvDims& dims);

// Immutable: several threads may run it at the same time.
class WinogradConvolution {
 public:
  // HasWinograd(def.dims); the result is f32. One number is an element of `tiles`.
  WinogradConvolution(const ConvolutionDef& def, const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many images makes.
  int64_t CopiedBytes(int64_t images) const;
  void Run(const ConvolutionArgs& args) const;

 private:
  struct Scratch;

  WinogradConvolution(const ConvolutionDef& def, const ConvolvedImage& image,
                      const gemm::Tiles& tiles);

  int64_t Planes() const { return int64_t{PointsOf(taps_)} * PointsOf(taps_); }
  int64_t KernelFloats() const;
  int64_t LineFloats() const;
  int64_t ConvertedFloats() const;
  int64_t SpareFloats() const;
  std::array<int64_t, 6> ArrayFloats() const;
  Scratch TakeScratch(void* memory) const;
  void TransformKernel(const void* kernel, const Scratch& scratch) const;
  void Multiply(int64_t tiles, const Scratch& scratch) const;
  void TransformY(const ConvolutionArgs& args, int64_t first, int64_t count,
                  const Scratch& scratch) const;

  const ConvolutionDef def_;
  const gemm::Tiles& tiles_;
  const int64_t taps_;
  const Phase of_h_, of_w_;       // the order of the kernel's taps
  const int64_t in_, out_;        // channels of the operand, of the result
  const int64_t height_, width_;  // of the result
  const TileCounts counts_;
  const int64_t panel_columns_;  // of out_
  const int64_t panels_;
  const int64_t block_rows_;  // of tiles
  const WinogradTiles operand_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_CONVOLUTION_H_
