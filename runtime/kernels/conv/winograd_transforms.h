// The transforms of minimal filtering F(2 x 2, taps x taps), for kernels of 3 x 3 and 5 x 5 taps:
// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, after Winograd,
// "Arithmetic Complexity of Computations", 1980.
//
//   y = A' ((G k G') * (B' x B)) A,   the gradient of k:  G' ((A dy A') * (B' x B)) G
//
// * multiplies element by element, and ' is the transposed. A tile of y has 2 x 2 pixels, those of
// x and of the transformed kernel have points x points, points = taps + 1. So 16 numbers are
// multiplied where a convolution by its definition multiplies 36, or 36 instead of 100.
//
// The points of interpolation are 0, 1, -1 and infinity; for 5 x 5 taps 1/2 and -2 besides, which
// give smaller errors than +-2 or +-1/2.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_TRANSFORMS_H_
#define TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_TRANSFORMS_H_

#include <cstdint>

#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

constexpr bool HasWinogradTransforms(int64_t taps) { return taps == 3 || taps == 5; }

inline constexpr int kTilePixels = 2;  // of y, along an axis
inline constexpr int kMostPoints = 6;  // along an axis
constexpr int PointsOf(int64_t taps) { return static_cast<int>(taps) + kTilePixels - 1; }

// The matrix M of M X M'.
enum class WinogradTransform : uint8_t {
  kKernel,      // G, points x taps
  kX,           // B', points x points
  kY,           // A', 2 x points
  kDy,          // A, points x 2
  kKernelGrad,  // G', taps x points
};

// Matrices X, one after the other, and their transforms. An entry of a matrix is the numbers of
// `channels` channels, which are contiguous.
struct WinogradArgs {
  const float* from[kMostPoints] = {};  // row i of the first X
  int64_t from_column = 0;              // floats from a column to the next
  int64_t from_next = 0;                // floats from an X to the next
  float* to[kMostPoints] = {};
  int64_t to_column = 0;
  int64_t to_next = 0;
  int64_t count = 0;  // of matrices X
  int64_t channels = 0;
  const float* bias = nullptr;  // (channels), added to every entry of a transform; nullptr: none
};

// With the vectors of the tiles' instruction set; the bits do not depend on it.
void TransformWinograd(WinogradTransform transform, int64_t taps, const gemm::Tiles& tiles,
                       const WinogradArgs& args);

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_WINOGRAD_TRANSFORMS_H_
