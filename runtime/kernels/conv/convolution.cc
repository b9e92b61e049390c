#include "runtime/kernels/conv/convolution.h"

#include <algorithm>
#include <array>

#include "runtime/base/dcheck.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/gemm/row_tiles.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {
namespace {

using gemm::AlignedFloats;
using gemm::DivideUp;
using gemm::kFloat;

// Rows of a kernel that is dilated along the width, at most: each is a run of a tile.
constexpr int64_t kMostRuns = 16;

bool SkipsPixels(const ConvDims& d) { return d.dw > 1 && d.kw > 1; }

int64_t ChannelsOfOperand(const ConvolutionDef& def) {
  return def.is_input_grad ? def.dims.f : def.dims.c;
}

bool PairsWindows(const ConvolutionDef& def, const gemm::Tiles& tiles) {
  return ChannelsOfOperand(def) % tiles.numbers != 0;
}

}  // namespace

bool ReachesPixels(const ConvDims& d) {
  constexpr int64_t kMostPads = 2;  // for each pixel of a row
  return !SkipsPixels(d) || (d.kh <= kMostRuns && (d.kw - 1) * d.dw <= kMostPads * d.w);
}

struct Convolution::Scratch {
  float* panels;  // of the kernel: of each phase, each (taps of h, depth, panel_columns_)
  float* line;    // elements of the kernel before they are transposed
  void* rows;     // PaddedRows
};

// A panel of the kernel, and the part of the result that is computed with it.
struct Convolution::Panel {
  const Phase& h;
  const Phase& w;
  int64_t column;
  int64_t begin;  // floats before it
};

bool Convolution::Fills(const ConvolutionDef& def, const gemm::Tiles& tiles) {
  if (SkipsPixels(def.dims) && (!ReachesPixels(def.dims) || tiles.row_unit > 1)) return false;
  if (!PairsWindows(def, tiles)) return true;
  // The copies are worth making if several rows of the kernel read them and there are enough
  // numbers. (Zen 5 that others used too, bf16 tiles to f32 tiles: 1 x 1 of 3 channels 1.2 to 1.5,
  // 3 x 3 of one channel 1 to 1.2, 5 x 5 of one channel and 32 results 0.85, 3 x 3 of 3 channels
  // and 64 results 0.74, 7 x 7 of 3 channels and stride 2 0.62.)
  constexpr int64_t kLeastNumbers = 5, kMostElements = 4 * PaddedRows::kElements;
  const ConvDims& d = def.dims;
  const int64_t numbers = d.kw * d.c;
  return !def.is_input_grad && !SkipsPixels(d) && !tiles.as_in_memory && d.kh > 1 &&
         numbers >= kLeastNumbers &&
         d.kh * d.ow * DivideUp(numbers, tiles.numbers) <= kMostElements;
}

std::optional<PackedKernel> Convolution::Packing(const ConvolutionDef& def,
                                                 const gemm::Tiles& tiles) {
  const ConvDims& d = def.dims;
  // Else the phases of a gradient of x share the pixels of the kernel among them.
  const bool has_one_phase = !def.is_input_grad || (d.sh == 1 && d.sw == 1);
  const bool has_one_pixel = d.kh == 1 && d.kw == 1;
  const int64_t in = ChannelsOfOperand(def), out = def.is_input_grad ? d.c : d.f;
  if (PairsWindows(def, tiles) || !(has_one_phase || has_one_pixel) ||
      d.kh * d.kw * in * out <= gemm::kFewNumbers) {
    return std::nullopt;
  }
  const int64_t columns = gemm::PanelColumns(out, tiles);
  return PackedKernel{.columns = columns,
                      .panels = DivideUp(out, columns),
                      .pixel_elements = in / tiles.numbers,
                      .falls = def.is_input_grad && !has_one_pixel};
}

Convolution::Convolution(const ConvolutionDef& def, const gemm::Tiles& tiles)
    : Convolution(def, ImageOf(def.dims, def.is_input_grad), tiles) {}

Convolution::Convolution(const ConvolutionDef& def, const ConvolvedImage& image,
                         const gemm::Tiles& tiles)
    : def_(def),
      tiles_(tiles),
      h_(image.h),
      w_(image.w),
      in_(ChannelsOfOperand(def)),
      out_(def.is_input_grad ? def.dims.c : def.dims.f),
      panel_columns_(gemm::PanelColumns(out_, tiles)),
      pairs_windows_(PairsWindows(def, tiles)),
      pixel_elements_(in_ / tiles.numbers),
      panels_(DivideUp(out_, panel_columns_)),
      rows_(OperandDims(image, def.dims.n, in_), def.operand,
            pairs_windows_ ? PaddedRows::Pairs::kWindows : PaddedRows::Pairs::kChannels,
            PixelsRead(w_.axis), PaddedRows::kElements, tiles) {
  TPURUN_DCHECK(Fills(def, tiles));
  TPURUN_DCHECK(!def.kernel_is_packed || Packing(def, tiles));
}

// Elements of a row of so many taps.
int64_t Convolution::DepthOf(int64_t taps) const {
  return pairs_windows_ ? DivideUp(taps * in_, tiles_.numbers) : taps * pixel_elements_;
}

template <typename F>
void Convolution::ForEachPanel(F f) const {
  int64_t begin = 0;
  for (const Phase& h : h_.phases) {
    for (const Phase& w : w_.phases) {
      for (int64_t column = 0; column < out_; column += panel_columns_) {
        f(Panel{h, w, column, begin});
        begin += h.taps * DepthOf(w.taps) * panel_columns_;
      }
    }
  }
}

// Of the copy, at most: a phase without pixels has no panels.
int64_t Convolution::KernelFloats() const {
  if (def_.kernel_is_packed) return 0;
  const ConvDims& d = def_.dims;
  return panels_ * d.kh * DepthOf(d.kw) * panel_columns_;
}

int64_t Convolution::LineFloats() const {
  const bool transposes = def_.is_input_grad && !def_.kernel_is_packed;
  return transposes ? AlignedFloats(pixel_elements_ * out_) : 0;
}

int64_t Convolution::ScratchBytes() const {
  const int64_t floats = AlignedFloats(KernelFloats()) + LineFloats();
  return floats * kFloat + rows_.ScratchBytes();
}

int64_t Convolution::CopiedBytes(int64_t images) const {
  if (images == 0) return 0;
  return KernelFloats() * kFloat + rows_.CopiedBytes(images);
}

void Convolution::Run(const ConvolutionArgs& args) const {
  if (args.begin == args.end) return;
  gemm::ScratchFloats floats(args.scratch);
  Scratch scratch{};
  scratch.panels = floats.Take(KernelFloats());
  scratch.line = floats.Take(LineFloats());
  scratch.rows = floats.rest();
  const float* panels = static_cast<const float*>(args.kernel);
  if (!def_.kernel_is_packed) {
    PackKernel(args.kernel, scratch);
    panels = scratch.panels;
  }
  rows_.Begin(scratch.rows);
  for (int64_t image = args.begin; image < args.end; ++image) {
    for (int64_t row = 0; row < h_.axis.y; row += rows_.block_rows()) {
      const PaddedRows::Block block =
          rows_.Copy(args.operand, image, row, 0, h_.axis.kernel, scratch.rows);
      ForEachPanel([&](const Panel& panel) { RunPanel(args, block, panel, panels); });
    }
  }
}

void Convolution::PackKernel(const void* kernel, const Scratch& scratch) const {
  ForEachPanel([&](const Panel& panel) {
    const int64_t floats = pixel_elements_ * panel_columns_;
    const int64_t row_floats = DepthOf(panel.w.taps) * panel_columns_;
    float* to = scratch.panels + panel.begin;
    if (panel.column + panel_columns_ > out_) std::fill_n(to, panel.h.taps * row_floats, 0.0f);
    for (int64_t i = 0; i < panel.h.taps; ++i) {
      if (pairs_windows_) {
        const int64_t row = panel.h.KernelAt(i) * def_.dims.kw * in_ * out_;
        PackWindow(gemm::At(kernel, def_.kernel.storage, row), panel.column, to);
        to += row_floats;
        continue;
      }
      for (int64_t j = 0; j < panel.w.taps; ++j, to += floats) {
        const int64_t pixel = panel.h.KernelAt(i) * def_.dims.kw + panel.w.KernelAt(j);
        PackPixel(gemm::At(kernel, def_.kernel.storage, pixel * in_ * out_), panel.column,
                  scratch.line, to);
      }
    }
  });
}

// The elements of a panel at one kernel[kh,kw].
void Convolution::PackPixel(const void* pixel, int64_t column, float* line, float* to) const {
  const Numbers& k = def_.kernel;
  const int64_t columns = std::min(panel_columns_, out_ - column);
  if (def_.is_input_grad) {
    gemm::PackNeighbours(tiles_, gemm::At(pixel, k.storage, column * in_), k.storage, k.part,
                         columns * in_, line);
    tiles_.transpose(line, pixel_elements_, columns, pixel_elements_, to, panel_columns_);
    return;
  }
  gemm::PackAllRows(tiles_, gemm::At(pixel, k.storage, column), out_, k.storage, k.part, in_,
                    columns, to, panel_columns_);
}

// The elements of a panel at one kernel[kh].
void Convolution::PackWindow(const void* row, int64_t column, float* to) const {
  const Numbers& k = def_.kernel;
  gemm::PackAllRows(tiles_, gemm::At(row, k.storage, column), out_, k.storage, k.part,
                    def_.dims.kw * in_, std::min(panel_columns_, out_ - column), to,
                    panel_columns_);
}

// The columns of a panel, in the rows and pixels of its phase.
void Convolution::RunPanel(const ConvolutionArgs& args, const PaddedRows::Block& block,
                           const Panel& panel, const float* panels) const {
  const ConvDims& d = def_.dims;
  const Phase &ph = panel.h, &pw = panel.w;
  const int64_t height = def_.is_input_grad ? d.h : d.oh, width = def_.is_input_grad ? d.w : d.ow;
  const int64_t dilation = h_.axis.dilation;
  // Pixels that follow each other are one row of elements. Else each is a repeat, and each row of
  // the kernel a run.
  const bool skips_pixels = SkipsPixels(d);
  const int64_t row_depth = DepthOf(pw.taps), depth = skips_pixels ? pixel_elements_ : row_depth;
  const gemm::ColumnVectors vectors(std::min(panel_columns_, out_ - panel.column), tiles_.lanes);
  gemm::TileArgs tile{
      .x_row = rows_.step_elements(),
      .y_depth = panel_columns_,
      .depth = depth,
      .x_jump = (skips_pixels ? d.dw * pixel_elements_ : dilation * rows_.row_elements()) - depth,
      .z_row = pw.step * out_,
      .rounded_row = pw.step * out_,
      .bias = args.bias == nullptr ? nullptr : args.bias + panel.column,
      .last_lanes = vectors.last_lanes};
  const gemm::RowTiles tiles(pw.count, tiles_.most_rows[vectors.count]);
  const int64_t end = std::min(block.oh + block.rows, ph.count);
  std::array<gemm::TileArgs::Run, kMostRuns> runs;
  for (int64_t row = block.oh; row < end; ++row) {
    const TapsInside inside(h_.axis, ph, row);
    const int64_t h = inside.first_read + inside.begin * dilation;
    const int64_t result_row = block.image * height + ph.first + row * ph.step;
    const int64_t taps = inside.end - inside.begin;
    tile.y = panels + panel.begin + inside.begin * row_depth * panel_columns_;
    if (skips_pixels) {
      tile.repeats = taps > 0 ? pw.taps : 0;
      tile.more = runs.data();
      tile.num_more = std::max<int64_t>(taps - 1, 0);
    } else {
      tile.repeats = taps;
    }
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int64_t pixel = tiles.Begin(t);
      tile.x =
          block.x + (h - block.h) * rows_.row_elements() + DepthOf(pw.begin) + pixel * tile.x_row;
      for (int64_t i = 0; i < tile.num_more; ++i) {
        runs[i] = {.x = tile.x + (i + 1) * dilation * rows_.row_elements(),
                   .y = tile.y + (i + 1) * row_depth * panel_columns_,
                   .repeats = pw.taps};
      }
      const int64_t result_pixel = result_row * width + pw.first + pixel * pw.step;
      const int64_t number = result_pixel * out_ + panel.column;
      if (def_.result == gemm::Storage::kBF16) {
        tile.rounded = static_cast<uint16_t*>(args.result) + number;
      } else {
        tile.z = static_cast<float*>(args.result) + number;
      }
      tiles_.of_rows[vectors.count][tiles.Rows(t)](tile);
    }
  }
}

}  // namespace tpurun::conv
