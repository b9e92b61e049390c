// The gradient of a convolution's kernel by Winograd's minimal filtering (winograd_transforms.h),
// on the tiles of runtime/kernels/gemm: for each of points x points planes, x' dy over the tiles of
// pixels of all images. The sums are transformed once, when they are complete.
//
// An element has other bits than a chain of products has. They do not depend on partition and
// instruction set. An infinity or a NaN makes all elements of its channels NaN.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_FILTER_GRAD_H_
#define TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_FILTER_GRAD_H_

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
  // Bytes of the copies that a call for all rows and so many columns of dk makes.
  int64_t CopiedBytes(int64_t rows, int64_t f) const;
  // For all rows of dk.
  void Run(const FilterGradArgs& args) const;

 private:
  struct Scratch;

  int64_t Planes() const { return int64_t{PointsOf(d_.kh)} * PointsOf(d_.kh); }
  Scratch TakeScratch(void* memory) const;
  void Multiply(int64_t f, int64_t tiles, const Scratch& scratch) const;
  void TransformSums(const FilterGradArgs& args, const Scratch& scratch) const;

  const ConvDims d_;
  const gemm::Tiles& tiles_;
  const TileCounts counts_;
  const WinogradTiles x_, dy_;
  const int64_t block_rows_;  // of tiles
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_FILTER_GRAD_H_
