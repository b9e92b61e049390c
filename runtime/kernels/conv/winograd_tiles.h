// Images as overlapping tiles of pixels, transformed for winograd_transforms.h: the planes that
// Winograd's convolutions multiply.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_TILES_H_
#define TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_TILES_H_

#include <cstdint>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/padded_rows.h"
#include "runtime/kernels/conv/winograd_transforms.h"
#include "runtime/kernels/gemm/sizes.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

// Floats from a plane to the next, each of (tiles, channels). An odd number of cache lines: the
// entries of a tile, one in each plane, lie in different sets of an L1 cache.
inline int64_t PlaneFloats(int64_t tiles, int64_t channels) {
  constexpr int64_t kCacheLine = 16;
  return gemm::AlignedFloats(tiles * channels) | kCacheLine;
}

// The tiles of a y of so many pixels.
struct TileCounts {
  explicit TileCounts(int64_t oh, int64_t ow)
      : rows(gemm::DivideUp(oh, kTilePixels)), columns(gemm::DivideUp(ow, kTilePixels)) {}

  int64_t rows, columns;
  int64_t image() const { return rows * columns; }
};

// How many rows of tiles are transformed at a time for products with so many channels of x and y
// together. The same for all instruction sets.
int64_t TileRowsOfBlock(const TileCounts& counts, int64_t points, int64_t channels);

// An operand whose tiles have taps + 1 pixels along an axis: x, or dy as an operand of one tap.
class WinogradTiles {
 public:
  // `dims`: of the convolution that reads the operand, with strides and dilations of 1; its kernel
  // has as many taps as tiles need. At most `block_rows` rows of tiles are transformed in a call.
  // One number is an element of `tiles`.
  WinogradTiles(const ConvDims& dims, const Numbers& numbers, int64_t block_rows,
                const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  int64_t CopiedBytes(int64_t images) const { return rows_.CopiedBytes(images); }
  // The tiles of rows of tiles [first, first + count), counted through all images, and of some
  // channels. Entry (i, j) of a tile goes to plane i * points + j.
  struct Args {
    const void* data = nullptr;
    int64_t first = 0, count = 0;
    int64_t channel_begin = 0, channel_end = 0;
    WinogradTransform transform = WinogradTransform::kX;
    int64_t taps = 0;  // of the transform
    float* to = nullptr;
    int64_t plane = 0;
    void* scratch = nullptr;
  };
  // Clears the scratch memory. Call before Transform.
  void Begin(void* scratch) const;
  void Transform(const Args& args) const;

 private:
  const ConvDims d_;
  const gemm::Tiles& tiles_;
  const TileCounts counts_;
  const PaddedRows rows_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_TILES_H_
