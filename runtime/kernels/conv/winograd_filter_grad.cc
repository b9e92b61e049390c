#include "runtime/kernels/conv/winograd_filter_grad.h"

#include <algorithm>

#include "runtime/base/clones.h"
#include "runtime/base/dcheck.h"
#include "runtime/kernels/conv/winograd_convolution.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/gemm/row_tiles.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {
namespace {

using gemm::kFloat;

// dy as the operand of a convolution of one tap: its tiles do not overlap.
ConvDims DimsOfDy(const ConvDims& d) {
  ConvDims dims = d;
  dims.h = d.oh, dims.w = d.ow, dims.c = d.f;
  dims.kh = dims.kw = 1;
  dims.top = dims.bottom = dims.left = dims.right = 0;
  return dims;
}

TPURUN_CLONES void AddRows(const float* from, int64_t from_row, int64_t rows, int64_t columns,
                           float* to, int64_t to_row) {
  for (; rows > 0; --rows, from += from_row, to += to_row) {
    for (int64_t c = 0; c < columns; ++c) to[c] += from[c];
  }
}

}  // namespace

struct WinogradFilterGrad::Scratch {
  float* x;         // planes of (tiles, C)
  float* dy;        // planes of (tiles, columns f of the call)
  float* sums;      // planes of (C, columns f of the call)
  float* of_block;  // those of a tile of a product, of one block
  void* x_rows;     // WinogradTiles
  void* dy_rows;    // WinogradTiles
};

WinogradFilterGrad::WinogradFilterGrad(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                                       const gemm::Tiles& tiles)
    : d_(dims),
      tiles_(tiles),
      counts_(dims.oh, dims.ow),
      block_rows_(TileRowsOfBlock(counts_, PointsOf(dims.kh), dims.c + dims.f)),
      x_(dims, x, block_rows_, tiles),
      dy_(DimsOfDy(dims), dy, block_rows_, tiles) {
  TPURUN_DCHECK(HasWinograd(dims));
}

// Those of Scratch, in its order.
std::array<int64_t, 5> WinogradFilterGrad::ArrayFloats() const {
  const int64_t tiles = block_rows_ * counts_.columns;
  return {Planes() * PlaneFloats(tiles, d_.c),
          // The last vector of a row is read as a whole.
          Planes() * PlaneFloats(tiles, d_.f) + tiles_.lanes, Planes() * PlaneFloats(d_.c, d_.f),
          int64_t{gemm::kMostRows} * gemm::kMostVectors * tiles_.lanes, x_.ScratchBytes() / kFloat};
}

WinogradFilterGrad::Scratch WinogradFilterGrad::TakeScratch(void* memory) const {
  gemm::ScratchFloats floats(memory);
  const auto [x, dy, sums, of_block, x_rows] = ArrayFloats();
  Scratch scratch{};
  scratch.x = floats.Take(x);
  scratch.dy = floats.Take(dy);
  scratch.sums = floats.Take(sums);
  scratch.of_block = floats.Take(of_block);
  scratch.x_rows = floats.Take(x_rows);
  scratch.dy_rows = floats.rest();
  return scratch;
}

int64_t WinogradFilterGrad::ScratchBytes() const {
  int64_t floats = 0;
  for (const int64_t of_array : ArrayFloats()) floats += gemm::AlignedFloats(of_array);
  return floats * kFloat + dy_.ScratchBytes();
}

int64_t WinogradFilterGrad::CopiedBytes(int64_t, int64_t f) const {
  const int64_t of_tiles = d_.n * counts_.image() * (d_.c + f);
  return Planes() * (of_tiles + d_.c * f) * kFloat + x_.CopiedBytes(d_.n) + dy_.CopiedBytes(d_.n);
}

void WinogradFilterGrad::Run(const FilterGradArgs& args) const {
  TPURUN_DCHECK(args.kh_begin == 0 && args.kh_end == d_.kh);
  if (args.f_begin == args.f_end) return;
  const Scratch scratch = TakeScratch(args.scratch);
  const int64_t f = args.f_end - args.f_begin, end = d_.n * counts_.rows;
  const int64_t of_block = block_rows_ * counts_.columns;
  x_.Begin(scratch.x_rows);
  dy_.Begin(scratch.dy_rows);
  std::fill_n(scratch.sums, Planes() * PlaneFloats(d_.c, f), 0.0f);
  for (int64_t first = 0; first < end; first += block_rows_) {
    const int64_t count = std::min(block_rows_, end - first);
    x_.Transform({.data = args.x,
                  .first = first,
                  .count = count,
                  .channel_end = d_.c,
                  .taps = d_.kh,
                  .to = scratch.x,
                  .plane = PlaneFloats(of_block, d_.c),
                  .scratch = scratch.x_rows});
    dy_.Transform({.data = args.dy,
                   .first = first,
                   .count = count,
                   .channel_begin = args.f_begin,
                   .channel_end = args.f_end,
                   .transform = WinogradTransform::kDy,
                   .taps = d_.kh,
                   .to = scratch.dy,
                   .plane = PlaneFloats(of_block, f),
                   .scratch = scratch.dy_rows});
    Multiply(f, count * counts_.columns, scratch);
  }
  TransformSums(args, scratch);
}

// A sum of blocks has smaller errors than a chain over the tiles of all images.
void WinogradFilterGrad::Multiply(int64_t f, int64_t tiles, const Scratch& scratch) const {
  const int64_t of_block = block_rows_ * counts_.columns;
  const int64_t panel_columns = gemm::PanelColumns(f, tiles_);
  for (int64_t plane = 0; plane < Planes(); ++plane) {
    const float* const x = scratch.x + plane * PlaneFloats(of_block, d_.c);
    const float* const dy = scratch.dy + plane * PlaneFloats(of_block, f);
    float* const sums = scratch.sums + plane * PlaneFloats(d_.c, f);
    for (int64_t column = 0; column < f; column += panel_columns) {
      const gemm::ColumnVectors vectors(std::min(panel_columns, f - column), tiles_.lanes);
      gemm::TileArgs tile{.x_depth = d_.c,
                          .y = dy + column,
                          .y_depth = f,
                          .depth = tiles,
                          .z = scratch.of_block,
                          .z_row = panel_columns,
                          .last_lanes = vectors.last_lanes};
      const gemm::RowTiles rows(d_.c, tiles_.most_rows[vectors.count]);
      for (int64_t t = 0; t < rows.count; ++t) {
        tile.x = x + rows.Begin(t);
        tiles_.interleaved[vectors.count][rows.Rows(t)](tile);
        AddRows(scratch.of_block, panel_columns, rows.Rows(t), std::min(panel_columns, f - column),
                sums + rows.Begin(t) * f + column, f);
      }
    }
  }
}

void WinogradFilterGrad::TransformSums(const FilterGradArgs& args, const Scratch& scratch) const {
  const int points = PointsOf(d_.kh);
  const int64_t f = args.f_end - args.f_begin, plane = PlaneFloats(d_.c, f);
  WinogradArgs sums{.from_column = plane,
                    .from_next = f,
                    .to_column = d_.c * d_.f,
                    .to_next = d_.f,
                    .count = d_.c,
                    .channels = f};
  for (int p = 0; p < points; ++p) sums.from[p] = scratch.sums + p * points * plane;
  for (int64_t i = 0; i < d_.kh; ++i) sums.to[i] = args.dk + i * d_.kw * d_.c * d_.f + args.f_begin;
  TransformWinograd(WinogradTransform::kKernelGrad, d_.kh, tiles_, sums);
}

}  // namespace tpurun::conv
