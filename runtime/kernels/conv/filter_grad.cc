#include "runtime/kernels/conv/filter_grad.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/gemm/row_tiles.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {
namespace {

using gemm::DivideUp;
using gemm::kFloat;

// Bytes of copies of x and dy that are loaded at a time: half of an L2 cache of 1 MB, which
// processors with AVX-512 have, or of 512 KB.
int64_t LoadedBytes(const gemm::Tiles& tiles) { return int64_t{tiles.lanes} * 32 * 1024; }

// The pixels of a padded row of x that `elements` elements along a row of dy read.
int64_t PixelsOfX(const ConvDims& d, int64_t elements, int numbers) {
  return std::max<int64_t>(elements - 1, 0) * numbers * d.sw + (d.kw - 1) * d.dw + 1;
}

}  // namespace

FilterGrad::FilterGrad(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                       const gemm::Tiles& tiles)
    : d_(dims),
      dy_(dy),
      tiles_(tiles),
      panel_columns_(gemm::PanelColumns(dims.f, tiles)),
      pixels_(DivideUp(dims.ow, tiles.numbers)),
      packs_dy_(gemm::Converts(tiles, dy.storage, dy.part) || dims.f != panel_columns_),
      rows_(dims, x, PaddedRows::Pairs::kPixels, PixelsOfX(dims, pixels_, tiles.numbers),
            LoadedBytes(tiles) / 2 / kFloat, tiles),
      image_blocks_(DivideUp(dims.oh, rows_.block_rows())),
      blocks_(std::clamp<int64_t>(
          LoadedBytes(tiles) / (PanelFloats(dims.f) * kFloat + rows_.ScratchBytes()), 1,
          std::clamp<int64_t>(dims.n * image_blocks_, 1, kMostBlocks))) {}

// Of the panels of a block of dy. Element (row, pixel p, column j) of a panel is
// [(row * pixels_ + p) * panel_columns_ + j].
int64_t FilterGrad::PanelFloats(int64_t f) const {
  const int64_t columns = DivideUp(f, panel_columns_) * panel_columns_;
  return gemm::AlignedFloats(rows_.block_rows() * pixels_ * columns);
}

// A large tile takes long to read and write, and a multiplication of bf16 numbers takes two pixels:
// such tiles need more pixels. (Time of FilterGrad, when it stored its tiles after each block,
// divided by that of PixelProducts, pixels at a time, for 4 images: AVX-512 with bf16 2.3 of
// 24, 1.5 of 98, 0.93 of 196; AVX-512 1.8 of 12, 1.1 of 56, 0.9 of 196; AVX2 2.0 of 14, 1.2 of 28,
// 0.9 of 65.)
bool FilterGrad::AddsFewPixels() const {
  constexpr int64_t kFewPixels = 4;  // for each lane of a vector and number of an element
  const int64_t times = DivideUp(d_.n * image_blocks_, blocks_);
  return times > 1 && d_.n * d_.oh * d_.ow < times * kFewPixels * tiles_.lanes * tiles_.numbers;
}

int64_t FilterGrad::ScratchBytes() const {
  return blocks_ * (PanelFloats(d_.f) * kFloat + rows_.ScratchBytes());
}

int64_t FilterGrad::CopiedBytes(int64_t, int64_t f) const {
  const int64_t columns = packs_dy_ ? DivideUp(f, panel_columns_) * panel_columns_ : 0;
  return d_.n * d_.oh * pixels_ * columns * kFloat + rows_.CopiedBytes(d_.n);
}

void FilterGrad::Run(const FilterGradArgs& args) const {
  if (args.kh_begin == args.kh_end || args.f_begin == args.f_end) return;
  const int64_t blocks = d_.n * image_blocks_;
  for (int64_t kh = args.kh_begin; kh < args.kh_end; ++kh) {
    if (blocks > 0 && FirstBlock(kh) >= 0) continue;
    for (int64_t row = 0; row < d_.kw * d_.c; ++row) {
      float* const to = args.dk + (kh * d_.kw * d_.c + row) * d_.f;
      std::fill(to + args.f_begin, to + args.f_end, 0.0f);
    }
  }
  for (int64_t place = 0; place < blocks_; ++place) rows_.Begin(RowsAt(args, place));
  std::array<Block, kMostBlocks> loaded;
  for (int64_t first = 0; first < blocks; first += blocks_) {
    const int64_t count = std::min(blocks_, blocks - first);
    for (int64_t place = 0; place < count; ++place)
      loaded[place] = Load(args, first + place, place);
    for (int64_t kh = args.kh_begin; kh < args.kh_end; ++kh)
      RunRow(args, first, std::span(loaded).first(count), kh);
  }
}

int64_t FilterGrad::FirstBlock(int64_t kh) const {
  const PaddedRows::Rows rows = rows_.RowsOf({.rows = d_.oh}, kh);
  return rows.begin < rows.end ? rows.begin / rows_.block_rows() : -1;
}

// Behind the panels of dy.
void* FilterGrad::RowsAt(const FilterGradArgs& args, int64_t place) const {
  return static_cast<std::byte*>(args.scratch) + blocks_ * PanelFloats(d_.f) * kFloat +
         place * rows_.ScratchBytes();
}

FilterGrad::Block FilterGrad::Load(const FilterGradArgs& args, int64_t number,
                                   int64_t place) const {
  const int64_t image = number / image_blocks_;
  const int64_t oh = number % image_blocks_ * rows_.block_rows();
  Block block = {
      .x = rows_.Copy(args.x, image, oh, args.kh_begin, args.kh_end, RowsAt(args, place))};
  // The last vector of a panel is read as a whole.
  if (packs_dy_ || args.f_begin % tiles_.lanes != 0) {
    float* const panels = static_cast<float*>(args.scratch) + place * PanelFloats(d_.f);
    PackDy(args, block.x, panels);
    block.dy = panels;
  } else {
    block.dy =
        static_cast<const float*>(args.dy) + (image * d_.oh + oh) * d_.ow * d_.f + args.f_begin;
  }
  return block;
}

void FilterGrad::PackDy(const FilterGradArgs& args, const PaddedRows::Block& block,
                        float* to) const {
  const int64_t f = args.f_end - args.f_begin;
  const int64_t panel = block.rows * pixels_ * panel_columns_;
  // Rows of whole elements are packed as one row.
  const bool is_one_row = d_.ow % tiles_.numbers == 0;
  const int64_t rows = is_one_row ? 1 : block.rows, pixels = d_.ow * block.rows / rows;
  const int64_t row_floats = panel / rows;
  for (int64_t row = 0; row < rows; ++row, to += row_floats) {
    const int64_t first = (block.image * d_.oh + block.oh + row) * d_.ow;
    for (int64_t column = 0; column < f; column += panel_columns_) {
      const int64_t columns = std::min(panel_columns_, f - column);
      const int64_t number = first * d_.f + args.f_begin + column;
      float* const lines = to + column / panel_columns_ * panel;
      gemm::PackAllRows(tiles_, gemm::At(args.dy, dy_.storage, number), d_.f, dy_.storage, dy_.part,
                        pixels, columns, lines, panel_columns_);
      // Columns behind the last one are multiplied too, but their sums are not stored.
      for (float* line = lines; columns < panel_columns_ && line < lines + row_floats;
           line += panel_columns_) {
        std::fill(line + columns, line + panel_columns_, 0.0f);
      }
    }
  }
}

void FilterGrad::RunRow(const FilterGradArgs& args, int64_t first, std::span<const Block> blocks,
                        int64_t kh) const {
  const int64_t f = args.f_end - args.f_begin, row_elements = rows_.row_elements();
  gemm::TileArgs tile{.x_depth = tiles_.numbers * d_.sw * d_.c,
                      .y_depth = panel_columns_,
                      .depth = pixels_,
                      .z_row = d_.f};
  tile.x_jump = d_.sh * row_elements - pixels_ * tile.x_depth;
  // Of each block that row kh reads, in the first panel and the first row of dk.
  std::array<gemm::TileArgs::Run, kMostBlocks> runs;
  std::array<int64_t, kMostBlocks> panels;  // floats from a panel to the next
  int64_t num_runs = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const PaddedRows::Block& block = blocks[i].x;
    const PaddedRows::Rows rows = rows_.RowsOf(block, kh);
    if (rows.begin >= rows.end) continue;
    if (num_runs == 0) tile.accumulates = first + static_cast<int64_t>(i) != FirstBlock(kh);
    const int64_t row_of_dy = pixels_ * panel_columns_;
    panels[num_runs] = block.rows * row_of_dy;
    runs[num_runs++] = {
        .x = block.x + (rows.begin * d_.sh + rows_.Shift(kh) - block.h) * row_elements,
        .y = blocks[i].dy + (rows.begin - block.oh) * row_of_dy,
        .repeats = rows.end - rows.begin};
  }
  if (num_runs == 0) return;
  tile.more = &runs[1];
  tile.num_more = num_runs - 1;
  // Rows that are contiguous in x.
  const int64_t groups = d_.dw == 1 ? 1 : d_.kw, group_rows = d_.kw / groups * d_.c;
  const auto move_x = [&](int64_t elements) {
    for (int64_t i = 0; i < num_runs; ++i) runs[i].x += elements;
  };
  for (int64_t column = 0; column < f; column += panel_columns_) {
    const int64_t columns = std::min(panel_columns_, f - column);
    const gemm::ColumnVectors vectors(columns, tiles_.lanes);
    tile.last_lanes = vectors.last_lanes;
    const gemm::RowTiles tiles(group_rows, tiles_.most_rows[vectors.count]);
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t first_row = kh * d_.kw * d_.c + group * group_rows;
      for (int64_t t = 0; t < tiles.count; ++t) {
        const int64_t row = tiles.Begin(t), rows = tiles.Rows(t);
        tile.x = runs[0].x;
        tile.y = runs[0].y;
        tile.repeats = runs[0].repeats;
        tile.z = args.dk + (first_row + row) * d_.f + args.f_begin + column;
        tiles_.interleaved[vectors.count][rows](tile);
        move_x(rows);
      }
      if (group + 1 < groups) move_x(d_.dw * d_.c - group_rows);
    }
    if (column + panel_columns_ >= f) return;
    move_x(-((groups - 1) * d_.dw * d_.c + group_rows));
    for (int64_t i = 0; i < num_runs; ++i) runs[i].y += panels[i];
  }
}

}  // namespace tpurun::conv
