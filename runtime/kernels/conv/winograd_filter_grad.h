// The gradient of a convolution's kernel by Winograd's minimal filtering (winograd_transforms.h),
// on the tiles of runtime/kernels/gemm: for each of points x points planes, x' dy over the tiles of
// pixels of all images. The sums are transformed once, when they are complete.
//
// An element has other bits than a chain of products has. They do not depend on the partition and
// the instruction set. The products of each block of tiles are one sum: over 64 images of
// 14 x 14 pixels, errors of 3 x 3 taps are a quarter of those of chains, and those of 5 x 5 taps
// are as large (root mean squares, random numbers). An infinity or a NaN of a channel may reach all
// elements of this channel, also those that do not read it.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_FILTER_GRAD_H_
#define TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_FILTER_GRAD_H_

#include <array>
#include <cstdint>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/filter_grad.h"
#include "runtime/kernels/conv/padded_rows.h"
#include "runtime/kernels/conv/winograd_tiles.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

// Immutable: several threads may run it at the same time.
class WinogradFilterGrad {
 public:
  // HasWinograd(dims). One number is an element of `tiles`.
  WinogradFilterGrad(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                     const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many rows kh and columns f makes.
  int64_t CopiedBytes(int64_t kh, int64_t f) const;
  // For all rows of dk.
  void Run(const FilterGradArgs& args) const;

 private:
  struct Scratch;

  int64_t Planes() const { return int64_t{PointsOf(d_.kh)} * PointsOf(d_.kh); }
  Scratch TakeScratch(void* memory) const;
  std::array<int64_t, 5> ArrayFloats() const;
  void Multiply(int64_t f, int64_t tiles, const Scratch& scratch) const;
  void TransformSums(const FilterGradArgs& args, const Scratch& scratch) const;

  const ConvDims d_;
  const gemm::Tiles& tiles_;
  const TileCounts counts_;
  const int64_t block_rows_;  // of tiles
  const WinogradTiles x_, dy_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_FILTER_GRAD_H_
