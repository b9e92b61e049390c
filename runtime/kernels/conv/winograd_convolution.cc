#include "runtime/kernels/conv/winograd_convolution.h"

#include <algorithm>

#include "runtime/base/dcheck.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/gemm/row_tiles.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {

using gemm::DivideUp;
using gemm::kFloat;

bool HasWinograd(const ConvDims& d) {
  const bool has_transforms = d.kh == d.kw && HasWinogradTransforms(d.kh);
  return has_transforms && d.groups == 1 && std::max({d.sh, d.sw, d.dh, d.dw}) == 1 &&
         std::max({d.top, d.bottom, d.left, d.right}) < d.kh;
}

struct WinogradConvolution::Scratch {
  float* kernel;     // in each plane: panels of (in_, panel_columns_)
  float* line;       // the taps of a panel: (taps, taps, in_, panel_columns_)
  float* converted;  // the kernel in f32
  float* x;          // planes of (tiles, in_)
  float* y;          // planes of (tiles, out_)
  float* spare;      // two rows of pixels of whole tiles
  void* operand;     // WinogradTiles
};

WinogradConvolution::WinogradConvolution(const ConvolutionDef& def, const gemm::Tiles& tiles)
    : WinogradConvolution(def, ImageOf(def.dims, def.is_input_grad), tiles) {}

WinogradConvolution::WinogradConvolution(const ConvolutionDef& def, const ConvolvedImage& image,
                                         const gemm::Tiles& tiles)
    : def_(def),
      tiles_(tiles),
      taps_(def.dims.kh),
      of_h_(image.h.phases[0]),
      of_w_(image.w.phases[0]),
      in_(def.is_input_grad ? def.dims.f : def.dims.c),
      out_(def.is_input_grad ? def.dims.c : def.dims.f),
      height_(image.h.axis.y),
      width_(image.w.axis.y),
      counts_(height_, width_),
      panel_columns_(gemm::PanelColumns(out_, tiles)),
      panels_(DivideUp(out_, panel_columns_)),
      block_rows_(TileRowsOfBlock(counts_, PointsOf(taps_), in_ + out_)),
      operand_(OperandDims(image, def.dims.n, in_), def.operand, block_rows_, tiles) {
  TPURUN_DCHECK(HasWinograd(def.dims) && def.result == gemm::Storage::kF32);
}

int64_t WinogradConvolution::KernelFloats() const {
  return Planes() * panels_ * in_ * panel_columns_;
}

int64_t WinogradConvolution::LineFloats() const {
  return def_.is_input_grad ? taps_ * taps_ * in_ * panel_columns_ : 0;
}

int64_t WinogradConvolution::ConvertedFloats() const {
  const Numbers& k = def_.kernel;
  return gemm::Converts(tiles_, k.storage, k.part) ? taps_ * taps_ * in_ * out_ : 0;
}

int64_t WinogradConvolution::SpareFloats() const {
  return kTilePixels * counts_.columns * kTilePixels * out_;
}

// Those of Scratch, in its order.
std::array<int64_t, 6> WinogradConvolution::ArrayFloats() const {
  const int64_t tiles = block_rows_ * counts_.columns;
  return {KernelFloats(),
          LineFloats(),
          ConvertedFloats(),
          Planes() * PlaneFloats(tiles, in_),
          Planes() * PlaneFloats(tiles, out_),
          SpareFloats()};
}

WinogradConvolution::Scratch WinogradConvolution::TakeScratch(void* memory) const {
  gemm::ScratchFloats floats(memory);
  const auto [kernel, line, converted, x, y, spare] = ArrayFloats();
  Scratch scratch{};
  scratch.kernel = floats.Take(kernel);
  scratch.line = floats.Take(line);
  scratch.converted = floats.Take(converted);
  scratch.x = floats.Take(x);
  scratch.y = floats.Take(y);
  scratch.spare = floats.Take(spare);
  scratch.operand = floats.rest();
  return scratch;
}

int64_t WinogradConvolution::ScratchBytes() const {
  int64_t floats = 0;
  for (const int64_t of_array : ArrayFloats()) floats += gemm::AlignedFloats(of_array);
  return floats * kFloat + operand_.ScratchBytes();
}

int64_t WinogradConvolution::CopiedBytes(int64_t images) const {
  if (images == 0) return 0;
  const int64_t planes = Planes() * images * counts_.image() * (in_ + out_);
  return (KernelFloats() + ConvertedFloats() + planes) * kFloat + operand_.CopiedBytes(images);
}

void WinogradConvolution::Run(const ConvolutionArgs& args) const {
  if (args.begin == args.end) return;
  const Scratch scratch = TakeScratch(args.scratch);
  TransformKernel(args.kernel, scratch);
  operand_.Begin(scratch.operand);
  const int64_t end = args.end * counts_.rows;
  for (int64_t first = args.begin * counts_.rows; first < end; first += block_rows_) {
    const int64_t count = std::min(block_rows_, end - first);
    operand_.Transform({.data = args.operand,
                        .first = first,
                        .count = count,
                        .channel_end = in_,
                        .taps = taps_,
                        .to = scratch.x,
                        .plane = PlaneFloats(block_rows_ * counts_.columns, in_),
                        .scratch = scratch.operand});
    Multiply(count * counts_.columns, scratch);
    TransformY(args, first, count, scratch);
  }
}

void WinogradConvolution::TransformKernel(const void* kernel, const Scratch& scratch) const {
  const float* taps = static_cast<const float*>(kernel);
  if (ConvertedFloats() > 0) {
    gemm::Convert(kernel, def_.kernel.storage, def_.kernel.part, ConvertedFloats(),
                  scratch.converted);
    taps = scratch.converted;
  }
  const int points = PointsOf(taps_);
  const int64_t tap = in_ * out_, panel = in_ * panel_columns_;
  const auto tap_at = [&](int64_t i, int64_t j) {
    return taps + (of_h_.KernelAt(i) * taps_ + of_w_.KernelAt(j)) * tap;
  };
  for (int64_t p = 0; p < panels_; ++p) {
    const int64_t column = p * panel_columns_;
    const int64_t columns = std::min(panel_columns_, out_ - column);
    float* const to = scratch.kernel + p * panel;
    WinogradArgs args{.from_column = tap,
                      .from_next = out_,
                      .to_column = panels_ * panel,
                      .to_next = panel_columns_,
                      .count = in_,
                      .channels = columns};
    for (int i = 0; i < points; ++i) args.to[i] = to + i * points * args.to_column;
    if (columns < panel_columns_) {
      for (int64_t plane = 0; plane < Planes(); ++plane)
        std::fill_n(to + plane * args.to_column, panel, 0.0f);
    }
    for (int64_t i = 0; i < taps_; ++i) {
      args.from[i] = tap_at(i, 0) + column;
      if (!def_.is_input_grad) continue;
      // Rows of the result's channels become columns.
      for (int64_t j = 0; j < taps_; ++j) {
        float* const line = scratch.line + (i * taps_ + j) * panel;
        tiles_.transpose(tap_at(i, j) + column * in_, in_, columns, in_, line, panel_columns_);
      }
      args.from[i] = scratch.line + i * taps_ * panel;
    }
    if (def_.is_input_grad) {
      args.from_column = panel;
      args.from_next = panel_columns_;
    }
    TransformWinograd(WinogradTransform::kKernel, taps_, tiles_, args);
  }
}

void WinogradConvolution::Multiply(int64_t tiles, const Scratch& scratch) const {
  const int64_t of_block = block_rows_ * counts_.columns;
  for (int64_t plane = 0; plane < Planes(); ++plane) {
    const float* const x = scratch.x + plane * PlaneFloats(of_block, in_);
    float* const y = scratch.y + plane * PlaneFloats(of_block, out_);
    for (int64_t p = 0; p < panels_; ++p) {
      const int64_t column = p * panel_columns_;
      const gemm::ColumnVectors vectors(std::min(panel_columns_, out_ - column), tiles_.lanes);
      gemm::TileArgs tile{.x_row = in_,
                          .y = scratch.kernel + (plane * panels_ + p) * in_ * panel_columns_,
                          .y_depth = panel_columns_,
                          .depth = in_,
                          .z_row = out_,
                          .last_lanes = vectors.last_lanes};
      const gemm::RowTiles rows(tiles, tiles_.most_rows[vectors.count]);
      for (int64_t t = 0; t < rows.count; ++t) {
        tile.x = x + rows.Begin(t) * in_;
        tile.z = y + rows.Begin(t) * out_ + column;
        tiles_.of_rows[vectors.count][rows.Rows(t)](tile);
      }
    }
  }
}

// Tiles that go beyond the result are written to spare rows, and copied.
void WinogradConvolution::TransformY(const ConvolutionArgs& args, int64_t first, int64_t count,
                                     const Scratch& scratch) const {
  const int points = PointsOf(taps_);
  const int64_t plane = PlaneFloats(block_rows_ * counts_.columns, out_), row = width_ * out_;
  WinogradArgs tile{.from_column = plane,
                    .from_next = out_,
                    .to_column = out_,
                    .to_next = kTilePixels * out_,
                    .count = counts_.columns,
                    .channels = out_,
                    .bias = args.bias};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t image = (first + i) / counts_.rows;
    const int64_t h = (first + i) % counts_.rows * kTilePixels;
    float* const y = static_cast<float*>(args.result) + (image * height_ + h) * row;
    for (int p = 0; p < points; ++p)
      tile.from[p] = scratch.y + p * points * plane + i * counts_.columns * out_;
    const bool is_whole = width_ % kTilePixels == 0;
    for (int64_t r = 0; r < kTilePixels; ++r) {
      tile.to[r] = is_whole && h + r < height_
                       ? y + r * row
                       : scratch.spare + r * counts_.columns * kTilePixels * out_;
    }
    TransformWinograd(WinogradTransform::kY, taps_, tiles_, tile);
    for (int64_t r = 0; !is_whole && r < std::min<int64_t>(kTilePixels, height_ - h); ++r)
      std::copy_n(tile.to[r], row, y + r * row);
  }
}

}  // namespace tpurun::conv
