#include "runtime/kernels/conv/convolution.h"

#include <algorithm>

#include "runtime/base/bfloat16.h"
#include "runtime/base/dcheck.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/gemm/row_tiles.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {
namespace {

using gemm::AlignedFloats;
using gemm::DivideUp;
using gemm::kFloat;

}  // namespace

struct Convolution::Scratch {
  float* panels;  // of the kernel, each (KH * depth_, panel_columns_)
  float* line;    // elements of the kernel before they are transposed
  float* y;       // a panel of columns of a block, before it is rounded
  void* rows;     // PaddedRows
};

Convolution::Convolution(const ConvolutionDef& def, const gemm::Tiles& tiles)
    : def_(def),
      tiles_(tiles),
      panel_columns_(gemm::PanelColumns(def.dims.f, tiles)),
      channels_(def.dims.c / tiles.numbers),
      depth_(def.dims.kw * channels_),
      panels_(DivideUp(def.dims.f, panel_columns_)),
      panel_floats_(def.dims.kh * depth_ * panel_columns_),
      rows_(def.dims, def.x, PaddedRows::Pairs::kChannels,
            std::max<int64_t>(def.dims.ow - 1, 0) * def.dims.sw + def.dims.kw, tiles) {
  TPURUN_DCHECK(def.dims.c % tiles.numbers == 0);
}

int64_t Convolution::ScratchBytes() const {
  const ConvDims& d = def_.dims;
  int64_t floats = AlignedFloats(panels_ * panel_floats_);
  if (def_.is_flipped) floats += AlignedFloats(d.f * channels_);
  if (def_.y == gemm::Storage::kBF16)
    floats += AlignedFloats(rows_.block_rows() * d.ow * panel_columns_);
  return floats * kFloat + rows_.ScratchBytes();
}

int64_t Convolution::CopiedBytes(int64_t images) const {
  const ConvDims& d = def_.dims;
  if (images == 0) return 0;
  int64_t floats = panels_ * panel_floats_;
  if (def_.y == gemm::Storage::kBF16) floats += images * d.oh * d.ow * d.f;
  return floats * kFloat + rows_.CopiedBytes(images);
}

void Convolution::Run(const ConvolutionArgs& args) const {
  const ConvDims& d = def_.dims;
  if (args.begin == args.end) return;
  gemm::ScratchFloats floats(args.scratch);
  Scratch scratch{};
  scratch.panels = floats.Take(panels_ * panel_floats_);
  if (def_.is_flipped) scratch.line = floats.Take(d.f * channels_);
  if (def_.y == gemm::Storage::kBF16)
    scratch.y = floats.Take(rows_.block_rows() * d.ow * panel_columns_);
  scratch.rows = floats.rest();
  PackKernel(args.kernel, scratch);
  rows_.Begin(scratch.rows);
  for (int64_t image = args.begin; image < args.end; ++image) {
    for (int64_t oh = 0; oh < d.oh; oh += rows_.block_rows()) {
      const PaddedRows::Block block = rows_.Copy(args.x, image, oh, 0, d.kh, scratch.rows);
      for (int64_t column = 0; column < d.f; column += panel_columns_)
        RunPanel(args, block, column, scratch);
    }
  }
}

void Convolution::PackKernel(const void* kernel, const Scratch& scratch) const {
  const ConvDims& d = def_.dims;
  if (d.f % panel_columns_ > 0)
    std::fill_n(scratch.panels + (panels_ - 1) * panel_floats_, panel_floats_, 0.0f);
  for (int64_t kh = 0; kh < d.kh; ++kh) {
    for (int64_t kw = 0; kw < d.kw; ++kw) {
      PackPixel(kernel, kh, kw, scratch.line,
                scratch.panels + (kh * depth_ + kw * channels_) * panel_columns_);
    }
  }
}

// The elements of all channels of kernel[kh,kw]. `panels` is their place in the first panel.
void Convolution::PackPixel(const void* kernel, int64_t kh, int64_t kw, float* line,
                            float* panels) const {
  const ConvDims& d = def_.dims;
  const Numbers& k = def_.kernel;
  const int64_t pixel = def_.is_flipped ? (d.kh - 1 - kh) * d.kw + d.kw - 1 - kw : kh * d.kw + kw;
  const void* const from = gemm::At(kernel, k.storage, pixel * d.c * d.f);
  if (def_.is_flipped) gemm::PackNeighbours(tiles_, from, k.storage, k.part, d.f * d.c, line);
  for (int64_t column = 0; column < d.f; column += panel_columns_, panels += panel_floats_) {
    const int64_t columns = std::min(panel_columns_, d.f - column);
    if (def_.is_flipped) {
      tiles_.transpose(line + column * channels_, channels_, columns, channels_, panels,
                       panel_columns_);
      continue;
    }
    for (int64_t c = 0; c < d.c; c += tiles_.numbers) {
      const void* const row = gemm::At(from, k.storage, c * d.f + column);
      gemm::PackRows(tiles_, row, gemm::At(row, k.storage, d.f), k.storage, k.part, columns,
                     panels + c / tiles_.numbers * panel_columns_);
    }
  }
}

// Columns [column, column + panel_columns_) of a block of y.
void Convolution::RunPanel(const ConvolutionArgs& args, const PaddedRows::Block& block,
                           int64_t column, const Scratch& scratch) const {
  const ConvDims& d = def_.dims;
  const bool rounds = def_.y == gemm::Storage::kBF16;
  const int64_t columns = std::min(panel_columns_, d.f - column);
  const gemm::ColumnVectors vectors(columns, tiles_.lanes);
  const int64_t first = (block.image * d.oh + block.oh) * d.ow * d.f + column;
  float* const y = rounds ? scratch.y : static_cast<float*>(args.y) + first;
  const float* const panel = scratch.panels + column / panel_columns_ * panel_floats_;
  gemm::TileArgs tile{.x_row = d.sw * channels_,
                      .y_depth = panel_columns_,
                      .depth = depth_,
                      .x_jump = d.dh * rows_.row_elements() - depth_,
                      .z_row = rounds ? columns : d.f,
                      .bias = args.bias == nullptr ? nullptr : args.bias + column,
                      .last_lanes = vectors.last_lanes};
  const gemm::RowTiles tiles(d.ow, tiles_.most_rows[vectors.count]);
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t h = (block.oh + row) * d.sh + rows_.Shift(0);  // read by kh = 0
    const int64_t kh = std::min(DivideUp(std::max<int64_t>(-h, 0), d.dh), d.kh);
    const int64_t kh_end = std::clamp<int64_t>(DivideUp(d.h - h, d.dh), kh, d.kh);
    tile.repeats = kh_end - kh;
    tile.y = panel + kh * depth_ * panel_columns_;
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int64_t ow = tiles.Begin(t);
      tile.x = block.x + (h + kh * d.dh - block.h) * rows_.row_elements() + ow * tile.x_row;
      tile.z = y + (row * d.ow + ow) * tile.z_row;
      tiles_.of_rows[vectors.count][tiles.Rows(t)](tile);
    }
  }
  if (!rounds) return;
  auto* const to = static_cast<uint16_t*>(args.y) + first;
  const int64_t pixels = block.rows * d.ow;
  if (columns == d.f) return RoundToBFloat16(y, pixels * columns, to);
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    RoundToBFloat16(y + pixel * columns, columns, to + pixel * d.f);
}

}  // namespace tpurun::conv
