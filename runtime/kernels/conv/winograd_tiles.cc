#include "runtime/kernels/conv/winograd_tiles.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/dcheck.h"

namespace tpurun::conv {
namespace {

using gemm::kFloat;

// The pixels of a row of an operand that the tiles read.
int64_t PixelsOfTiles(const ConvDims& d, const TileCounts& counts) {
  return counts.columns * kTilePixels + d.kw - 1;
}

// Numbers of a copy of rows of the operand: 64 KB, but those of one row of tiles at least, and of
// all rows of a block at most.
int64_t CopiedNumbers(const ConvDims& d, const TileCounts& counts, int64_t block_rows) {
  constexpr int64_t kMost = 16384;
  const int64_t row = PixelsOfTiles(d, counts) * d.c;
  return std::clamp(kMost, (d.kh + kTilePixels - 1) * row,
                    (d.kh + block_rows * kTilePixels - 1) * row);
}

}  // namespace

int64_t TileRowsOfBlock(const TileCounts& counts, int64_t points, int64_t channels) {
  // The planes of a block take 512 KB, a part of an L2 cache of 1 MB. A product has kLeastTiles
  // rows nevertheless, so that reading the other operand, which may be in the L3 cache, takes less
  // time than multiplying.
  constexpr int64_t kFloats = 131072, kLeastTiles = 96;
  const int64_t most = std::max(kFloats / (points * points * channels), kLeastTiles);
  return std::max<int64_t>(most / counts.columns, 1);
}

WinogradTiles::WinogradTiles(const ConvDims& dims, const Numbers& numbers, int64_t block_rows,
                             const gemm::Tiles& tiles)
    : d_(dims),
      tiles_(tiles),
      counts_(dims.oh, dims.ow),
      rows_(dims, numbers, PaddedRows::Pairs::kChannels, PixelsOfTiles(dims, counts_),
            CopiedNumbers(dims, counts_, block_rows), tiles) {
  TPURUN_DCHECK(tiles.numbers == 1 && dims.sh == 1 && dims.sw == 1 && dims.dh == 1);
}

// A row of zeros, and a copy of rows.
int64_t WinogradTiles::ScratchBytes() const {
  return gemm::AlignedFloats(rows_.row_elements()) * kFloat + rows_.ScratchBytes();
}

void WinogradTiles::Begin(void* scratch) const {
  gemm::ScratchFloats floats(scratch);
  std::memset(floats.Take(rows_.row_elements()), 0, rows_.row_elements() * kFloat);
  rows_.Begin(floats.rest());
}

void WinogradTiles::Transform(const Args& args) const {
  gemm::ScratchFloats floats(args.scratch);
  const float* const zeros = floats.Take(rows_.row_elements());
  const int64_t points = PointsOf(args.taps), read = d_.kh + kTilePixels - 1;
  WinogradArgs tile{.from_column = d_.c,
                    .from_next = kTilePixels * d_.c,
                    .to_column = args.plane,
                    .to_next = args.channel_end - args.channel_begin,
                    .count = counts_.columns,
                    .channels = args.channel_end - args.channel_begin};
  PaddedRows::Block copy{.image = -1};
  for (int64_t i = 0; i < args.count; ++i) {
    const int64_t image = (args.first + i) / counts_.rows;
    const int64_t row = (args.first + i) % counts_.rows * kTilePixels;
    if (image != copy.image || std::min(row + kTilePixels, d_.oh) > copy.oh + copy.rows)
      copy = rows_.Copy(args.data, image, row, 0, d_.kh, floats.rest());
    for (int64_t r = 0; r < read; ++r) {
      const int64_t h = row + rows_.Shift(r);
      const bool is_copied = h >= copy.h && h < copy.h_end;
      tile.from[r] =
          (is_copied ? copy.x + (h - copy.h) * rows_.row_elements() : zeros) + args.channel_begin;
    }
    for (int64_t p = 0; p < points; ++p) {
      tile.to[p] = args.to + p * points * args.plane + i * counts_.columns * tile.to_next;
    }
    TransformWinograd(args.transform, args.taps, tiles_, tile);
  }
}

}  // namespace tpurun::conv
