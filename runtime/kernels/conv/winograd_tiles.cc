#include "runtime/kernels/conv/winograd_tiles.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/base/dcheck.h"

namespace tpurun::conv {
namespace {

using gemm::kFloat;

// Numbers of a copy of rows: 64 KB, if two rows of y need no more.
constexpr int64_t kCopiedNumbers = 16384;

// The pixels of a row of an operand that the tiles read.
int64_t PixelsOfTiles(const ConvDims& d, const TileCounts& counts) {
  return counts.columns * kTilePixels + d.kw - 1;
}

}  // namespace

int64_t TileRowsOfBlock(const TileCounts& counts, int64_t points, int64_t channels,
                        const gemm::Tiles& tiles) {
  // The planes of a block take so many floats, 512 KB or with AVX-512 1 MB. A product has enough
  // rows to be worth reading the other operand, though.
  constexpr int64_t kFloatsOfLane = 16384, kLeastTiles = 96;
  const int64_t most = int64_t{tiles.lanes} * kFloatsOfLane / (points * points * channels);
  return std::max<int64_t>(std::max(most, kLeastTiles) / counts.columns, 1);
}

WinogradTiles::WinogradTiles(const ConvDims& dims, const Numbers& numbers, const gemm::Tiles& tiles)
    : d_(dims),
      tiles_(tiles),
      counts_(dims.oh, dims.ow),
      rows_(dims, numbers, PaddedRows::Pairs::kChannels, PixelsOfTiles(dims, counts_),
            std::max(kCopiedNumbers,
                     (dims.kh + kTilePixels - 1) * PixelsOfTiles(dims, counts_) * dims.c),
            tiles) {
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
