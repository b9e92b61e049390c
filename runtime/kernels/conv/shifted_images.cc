#include "runtime/kernels/conv/shifted_images.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/kernels/gemm/row_tiles.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {
namespace {

using gemm::DivideUp;
using gemm::kFloat;
using gemm::RoundUp;

// Images are multiplied together until a sum takes so many elements along its pixels before it is
// written: dk may be larger than the caches. Their copies stay in the L2 cache of 2 MB that
// processors with AMX have. (4 images of 7 x 7 x 512 with as many results, 3 x 3: 133 GFLOP/s an
// image at a time, 450 together; 16 of 8 x 8 x 64: 520 and 570.)
constexpr int64_t kDepth = 2048;
constexpr int64_t kMostCopiedBytes = 1 << 20;

int64_t FloorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// A whole number of cache lines, and an odd one: the rows of a tile lie in different sets of a
// cache.
int64_t OddLines(int64_t elements) {
  constexpr int64_t kLine = 16;
  const int64_t lines = DivideUp(elements, kLine);
  return (lines + 1 - lines % 2) * kLine;
}

// Pixels one after the other, in rows of so many.
struct Pixels {
  explicit Pixels(int64_t row_pixels) : row_pixels(row_pixels) {}

  void Next() {
    if (++column < row_pixels) return;
    column = 0;
    ++row;
  }

  int64_t row = 0, column = 0;
  const int64_t row_pixels;
};

}  // namespace

ShiftedImages::Axis::Axis(int64_t stride, int64_t dilation, int64_t pad, int64_t kernel)
    : first(FloorDivide(-pad, stride)) {
  for (int64_t entry = 0; entry < kernel; ++entry) {
    const int64_t at = entry * dilation - pad, quotient = FloorDivide(at, stride);
    const int64_t phase = at - quotient * stride;
    const auto found = std::find(phases.begin(), phases.end(), phase);
    phase_of.push_back(found - phases.begin());
    if (found == phases.end()) phases.push_back(phase);
    shift.push_back(quotient - first);
    shifts = std::max(shifts, shift.back());
  }
}

ShiftedImages::ShiftedImages(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                             const gemm::Tiles& tiles)
    : d_(dims),
      x_(x),
      dy_(dy),
      tiles_(tiles),
      h_(dims.sh, dims.dh, dims.top, dims.kh),
      w_(dims.sw, 1, dims.left, dims.kw),
      row_pixels_(dims.ow + w_.shifts),
      depth_(RoundUp(
          DivideUp(std::max<int64_t>((dims.oh - 1) * row_pixels_ + dims.ow, 0), tiles.numbers),
          tiles.depth_unit)),
      // The last tile begins at the largest shift.
      line_elements_(
          OddLines(depth_ + DivideUp(h_.shifts * row_pixels_ + w_.shifts, tiles.numbers))),
      panel_columns_(int64_t{tiles.most_vectors} * tiles.lanes),
      images_(std::clamp<int64_t>(
          std::min(DivideUp(kDepth, std::max<int64_t>(depth_, 1)),
                   kMostCopiedBytes / ((ImageFloats() + PanelFloats()) * kFloat + 1)),
          1, std::max<int64_t>(dims.n, 1))) {}

// Of one image, for all columns of dy.
int64_t ShiftedImages::PanelFloats() const { return RoundUp(d_.f, panel_columns_) * depth_; }

// Copies of images; a tile reads rows behind the last channel.
int64_t ShiftedImages::GroupFloats() const {
  return images_ * ImageFloats() + gemm::kMostRows * line_elements_;
}

int64_t ShiftedImages::ScratchBytes() const {
  const int64_t block = tiles_.lanes * RoundUp(d_.c, tiles_.lanes);
  return (GroupFloats() + images_ * PanelFloats() + block) * kFloat;
}

int64_t ShiftedImages::CopiedBytes(int64_t, int64_t f) const {
  return d_.n * (ImageFloats() + RoundUp(f, panel_columns_) * depth_) * kFloat;
}

void ShiftedImages::Run(const FilterGradArgs& args) const {
  if (args.kh_begin == args.kh_end || args.f_begin == args.f_end) return;
  float* const copies = static_cast<float*>(args.scratch);
  float* const panels = copies + GroupFloats();
  float* const block = panels + images_ * PanelFloats();
  // Without images, the sum of none.
  for (int64_t image = 0; image == 0 || image < d_.n; image += images_) {
    const int64_t images = std::min(images_, d_.n - image);
    for (int64_t place = 0; place < images; ++place) {
      CopyImage(args, image + place, copies + place * ImageFloats(), block);
      CopyDy(args, image + place, place, panels);
    }
    RunGroup(args, images, image > 0);
  }
}

void ShiftedImages::CopyImage(const FilterGradArgs& args, int64_t image, float* to,
                              float* block) const {
  for (const int64_t phase_h : h_.phases) {
    for (const int64_t phase_w : w_.phases) {
      CopyPhase(args, image, phase_h, phase_w, to, block);
      to += d_.c * line_elements_;
    }
  }
}

void ShiftedImages::CopyPhase(const FilterGradArgs& args, int64_t image, int64_t phase_h,
                              int64_t phase_w, float* to, float* block) const {
  const int64_t block_row = RoundUp(d_.c, tiles_.lanes);
  Pixels pixels(row_pixels_);
  // The numbers of the next pixel of the copy; nullptr: zeros.
  const auto next = [&]() -> const void* {
    const int64_t h = (pixels.row + h_.first) * d_.sh + phase_h;
    const int64_t w = (pixels.column + w_.first) * d_.sw + phase_w;
    pixels.Next();
    if (h < 0 || h >= d_.h || w < 0 || w >= d_.w) return nullptr;
    return gemm::At(args.x, x_.storage, ((image * d_.h + h) * d_.w + w) * d_.c);
  };
  for (int64_t element = 0; element < line_elements_; element += tiles_.lanes) {
    for (int64_t e = 0; e < tiles_.lanes; ++e) {
      const void* const first = next();
      gemm::PackRows(tiles_, first, next(), x_.storage, x_.part, d_.c, block + e * block_row);
    }
    tiles_.transpose(block, block_row, tiles_.lanes, d_.c, to + element, line_elements_);
  }
}

void ShiftedImages::CopyDy(const FilterGradArgs& args, int64_t image, int64_t place,
                           float* panels) const {
  const int64_t f = args.f_end - args.f_begin, panel = images_ * depth_ * panel_columns_;
  Pixels pixels(row_pixels_);
  // The numbers of the next pixel, -1: zeros.
  const auto next = [&]() -> int64_t {
    const auto [row, column] = std::pair(pixels.row, pixels.column);
    pixels.Next();
    if (row >= d_.oh || column >= d_.ow) return -1;
    return ((image * d_.oh + row) * d_.ow + column) * d_.f + args.f_begin;
  };
  float* line = panels + place * depth_ * panel_columns_;
  for (int64_t element = 0; element < depth_; ++element, line += panel_columns_) {
    const int64_t pair[] = {next(), next()};
    for (int64_t column = 0; column < f; column += panel_columns_) {
      const int64_t columns = std::min(panel_columns_, f - column);
      const auto at = [&](int64_t pixel) {
        return pixel < 0 ? nullptr : gemm::At(args.dy, dy_.storage, pixel + column);
      };
      float* const to = line + column / panel_columns_ * panel;
      gemm::PackRows(tiles_, at(pair[0]), at(pair[1]), dy_.storage, dy_.part, columns, to);
      // Columns behind the last one are multiplied too, but their sums are not stored.
      if (columns < panel_columns_) std::fill(to + columns, to + panel_columns_, 0.0f);
    }
  }
}

void ShiftedImages::RunGroup(const FilterGradArgs& args, int64_t images, bool accumulates) const {
  const int64_t f = args.f_end - args.f_begin;
  const float* const panels = static_cast<const float*>(args.scratch) + GroupFloats();
  gemm::TileArgs tile{.x_row = line_elements_,
                      .y_depth = panel_columns_,
                      .depth = depth_,
                      .repeats = images,
                      .x_jump = ImageFloats() - depth_,
                      .z_row = d_.f,
                      .accumulates = accumulates};
  if (tiles_.begin != nullptr) tiles_.begin();
  const auto* const copies = static_cast<const std::byte*>(args.scratch);
  const gemm::RowTiles tiles(d_.c, tiles_.most_rows[1]);
  for (int64_t t = 0; t < tiles.count; ++t) {
    for (int64_t kh = args.kh_begin; kh < args.kh_end; ++kh) {
      for (int64_t kw = 0; kw < d_.kw; ++kw) {
        const int64_t phase = h_.phase_of[kh] * std::ssize(w_.phases) + w_.phase_of[kw];
        const int64_t line = phase * d_.c + tiles.Begin(t);
        const int64_t shift = h_.shift[kh] * row_pixels_ + w_.shift[kw];
        // An odd number is within an element.
        tile.x = reinterpret_cast<const float*>(copies + line * line_elements_ * kFloat +
                                                shift * kFloat / tiles_.numbers);
        const int64_t row = (kh * d_.kw + kw) * d_.c + tiles.Begin(t);
        for (int64_t column = 0; column < f; column += panel_columns_) {
          const gemm::ColumnVectors vectors(std::min(panel_columns_, f - column), tiles_.lanes);
          tile.last_lanes = vectors.last_lanes;
          tile.y = panels + column * images_ * depth_;
          tile.z = args.dk + row * d_.f + args.f_begin + column;
          tiles_.of_rows[vectors.count][tiles.Rows(t)](tile);
        }
      }
    }
  }
  if (tiles_.end != nullptr) tiles_.end();
}

}  // namespace tpurun::conv
