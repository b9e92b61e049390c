#include "runtime/kernels/conv/padded_rows.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {
namespace {

using gemm::DivideUp;

// The most rows of y, one or more, whose rows of x are few enough.
int64_t BlockRows(const ConvDims& d, int64_t row_elements, int64_t most_elements) {
  const int64_t more = (d.kh - 1) * d.dh + 1;
  const int64_t rows = (most_elements / std::max<int64_t>(row_elements, 1) - more) / d.sh + 1;
  return std::clamp<int64_t>(rows, 1, std::max<int64_t>(d.oh, 1));
}

}  // namespace

PaddedRows::PaddedRows(const ConvDims& dims, const Numbers& x, Pairs pairs, int64_t pixels,
                       int64_t most_elements, const gemm::Tiles& tiles)
    : d_(dims),
      x_(x),
      pairs_(pairs),
      tiles_(tiles),
      line_pixels_(pixels + (pairs == Pairs::kPixels ? (tiles.numbers - 1) * dims.sw : 0)),
      row_elements_(pixels * (pairs == Pairs::kPixels ? dims.c : dims.c / tiles.numbers)),
      block_rows_(BlockRows(dims, row_elements_, most_elements)) {}

int64_t PaddedRows::RowsOfX(int64_t rows) const {
  return std::min((rows - 1) * d_.sh + (d_.kh - 1) * d_.dh + 1, d_.h);
}

int64_t PaddedRows::ScratchBytes() const {
  return gemm::AlignedFloats(RowsOfX(block_rows_) * row_elements_) * gemm::kFloat;
}

int64_t PaddedRows::CopiedBytes(int64_t images) const {
  const int64_t blocks = DivideUp(d_.oh, block_rows_);
  return images * blocks * RowsOfX(block_rows_) * row_elements_ * gemm::kFloat;
}

void PaddedRows::Begin(void* scratch) const { std::memset(scratch, 0, ScratchBytes()); }

PaddedRows::Block PaddedRows::Copy(const void* x, int64_t image, int64_t oh, int64_t kh,
                                   int64_t kh_end, void* scratch) const {
  Block block{.image = image, .oh = oh, .rows = std::min(block_rows_, d_.oh - oh)};
  block.h = std::clamp<int64_t>(oh * d_.sh + Shift(kh), 0, d_.h);
  block.h_end =
      std::clamp<int64_t>((oh + block.rows - 1) * d_.sh + Shift(kh_end - 1) + 1, block.h, d_.h);
  float* to = static_cast<float*>(scratch);
  block.x = to;
  for (int64_t h = block.h; h < block.h_end; ++h, to += row_elements_)
    CopyRow(gemm::At(x, x_.storage, (image * d_.h + h) * d_.w * d_.c), to);
  return block;
}

// Pixel w of the row is pixel w + left of the padded row. A pad below 0 leaves pixels out.
void PaddedRows::CopyRow(const void* row, float* to) const {
  const int64_t pad = std::max<int64_t>(d_.left, 0), skipped = std::max<int64_t>(-d_.left, 0);
  const int64_t end =
      pad + std::clamp<int64_t>(line_pixels_ - pad, 0, std::max<int64_t>(d_.w - skipped, 0));
  // Pixel `pixel` of the padded row, in [pad, end).
  const auto at = [&](int64_t pixel) {
    return gemm::At(row, x_.storage, (pixel - pad + skipped) * d_.c);
  };
  if (pairs_ == Pairs::kChannels || tiles_.numbers == 1) {
    gemm::PackNeighbours(tiles_, at(pad), x_.storage, x_.part, (end - pad) * d_.c,
                         to + pad * d_.c / tiles_.numbers);
    return;
  }
  // Pixels [from, until) of the row of pairs, of which pixel p is pixels p and p + sw.
  const auto pack = [&](int64_t from, int64_t until, bool has_first, bool has_second) {
    until = std::min(until, row_elements_ / d_.c);
    if (from >= until) return;
    gemm::PackRows(tiles_, has_first ? at(from) : nullptr, has_second ? at(from + d_.sw) : nullptr,
                   x_.storage, x_.part, (until - from) * d_.c, to + from * d_.c);
  };
  const int64_t last_pair = std::max(end - d_.sw, pad);
  pack(std::max<int64_t>(pad - d_.sw, 0), std::min(pad, end - d_.sw), false, true);
  pack(pad, last_pair, true, true);
  pack(last_pair, end, true, false);
}

PaddedRows::Rows PaddedRows::RowsOf(const Block& block, int64_t kh) const {
  const int64_t shift = Shift(kh);
  const int64_t begin = std::max(block.oh, DivideUp(std::max<int64_t>(-shift, 0), d_.sh));
  const int64_t end = d_.h > shift ? DivideUp(d_.h - shift, d_.sh) : 0;
  return {begin, std::min(block.oh + block.rows, end)};
}

}  // namespace tpurun::conv
