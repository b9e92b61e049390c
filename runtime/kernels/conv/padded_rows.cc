#include "runtime/kernels/conv/padded_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/bfloat16.h"
#include "runtime/base/dcheck.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {
namespace {

using gemm::DivideUp;

int64_t StepElements(const ConvDims& d, PaddedRows::Pairs pairs, const gemm::Tiles& tiles) {
  if (pairs == PaddedRows::Pairs::kWindows) return DivideUp(d.kw * d.c, tiles.numbers);
  return d.sw * (pairs == PaddedRows::Pairs::kPixels ? d.c : d.c / tiles.numbers);
}

int64_t RowElements(const ConvDims& d, PaddedRows::Pairs pairs, int64_t pixels,
                    const gemm::Tiles& tiles) {
  if (pairs == PaddedRows::Pairs::kWindows) return d.ow * StepElements(d, pairs, tiles);
  return pixels * StepElements(d, pairs, tiles) / d.sw;
}

// The most rows of y, one or more, whose rows of x are few enough.
int64_t BlockRows(const ConvDims& d, int64_t row_elements, int64_t most_elements) {
  const int64_t more = (d.kh - 1) * d.dh + 1;
  const int64_t rows = (most_elements / std::max<int64_t>(row_elements, 1) - more) / d.sh + 1;
  return std::clamp<int64_t>(rows, 1, std::max<int64_t>(d.oh, 1));
}

// n contiguous numbers as bf16.
void RoundNumbers(const void* from, gemm::Storage storage, int64_t n, uint16_t* to) {
  if (storage == gemm::Storage::kBF16) {
    std::copy_n(static_cast<const uint16_t*>(from), n, to);
  } else {
    RoundToBFloat16(static_cast<const float*>(from), n, to);
  }
}

// Elements of `numbers` numbers from each of line, line + step, ...
void PairWindows(const uint16_t* line, int64_t step, int64_t numbers, int64_t windows, float* to) {
  static_assert(std::endian::native == std::endian::little);
  const auto store = [&](uint32_t first_below) {
    const uint32_t element = std::rotl(first_below, 16);
    std::memcpy(to++, &element, sizeof(element));
  };
  for (; windows > 0; --windows, line += step) {
    for (int64_t i = 0; i + 1 < numbers; i += 2) {
      uint32_t element;
      std::memcpy(&element, line + i, sizeof(element));
      store(element);
    }
    if (numbers % 2 != 0) store(line[numbers - 1]);
  }
}

}  // namespace

PaddedRows::PaddedRows(const ConvDims& dims, const Numbers& x, Pairs pairs, int64_t pixels,
                       int64_t most_elements, const gemm::Tiles& tiles)
    : d_(dims),
      x_(x),
      pairs_(pairs),
      tiles_(tiles),
      line_pixels_(pixels + (pairs == Pairs::kPixels ? (tiles.numbers - 1) * dims.sw : 0)),
      step_elements_(StepElements(dims, pairs, tiles)),
      row_elements_(RowElements(dims, pairs, pixels, tiles)),
      block_rows_(BlockRows(dims, row_elements_, most_elements)) {
  TPURUN_DCHECK(pairs != Pairs::kWindows || (tiles.numbers == 2 && !tiles.as_in_memory));
}

int64_t PaddedRows::RowsOfX(int64_t rows) const {
  return std::min((rows - 1) * d_.sh + (d_.kh - 1) * d_.dh + 1, d_.h);
}

int64_t PaddedRows::CopiedFloats() const {
  return gemm::AlignedFloats(RowsOfX(block_rows_) * row_elements_);
}

int64_t PaddedRows::LineNumbers() const {
  return pairs_ == Pairs::kWindows ? line_pixels_ * d_.c : 0;
}

int64_t PaddedRows::ScratchBytes() const {
  return (CopiedFloats() + gemm::AlignedFloats(DivideUp(LineNumbers(), 2))) * gemm::kFloat;
}

int64_t PaddedRows::CopiedBytes(int64_t images) const {
  const int64_t blocks = DivideUp(d_.oh, block_rows_);
  const int64_t row_floats = row_elements_ + DivideUp(LineNumbers(), 2);
  return images * blocks * RowsOfX(block_rows_) * row_floats * gemm::kFloat;
}

void PaddedRows::Begin(void* scratch) const { std::memset(scratch, 0, ScratchBytes()); }

PaddedRows::Block PaddedRows::Copy(const void* x, int64_t image, int64_t oh, int64_t kh,
                                   int64_t kh_end, void* scratch) const {
  Block block{.image = image, .oh = oh, .rows = std::min(block_rows_, d_.oh - oh)};
  block.h = std::clamp<int64_t>(oh * d_.sh + Shift(kh), 0, d_.h);
  block.h_end =
      std::clamp<int64_t>((oh + block.rows - 1) * d_.sh + Shift(kh_end - 1) + 1, block.h, d_.h);
  float* to = static_cast<float*>(scratch);
  uint16_t* const line = reinterpret_cast<uint16_t*>(to + CopiedFloats());
  block.x = to;
  for (int64_t h = block.h; h < block.h_end; ++h, to += row_elements_)
    CopyRow(gemm::At(x, x_.storage, (image * d_.h + h) * d_.w * d_.c), line, to);
  return block;
}

// Pixel w of the row is pixel w + left of the padded row. A pad below 0 leaves pixels out.
void PaddedRows::CopyRow(const void* row, uint16_t* line, float* to) const {
  const int64_t pad = std::max<int64_t>(d_.left, 0), skipped = std::max<int64_t>(-d_.left, 0);
  const int64_t end =
      pad + std::clamp<int64_t>(line_pixels_ - pad, 0, std::max<int64_t>(d_.w - skipped, 0));
  // Pixel `pixel` of the padded row, in [pad, end).
  const auto at = [&](int64_t pixel) {
    return gemm::At(row, x_.storage, (pixel - pad + skipped) * d_.c);
  };
  if (pairs_ == Pairs::kWindows) {
    if (end > pad) RoundNumbers(at(pad), x_.storage, (end - pad) * d_.c, line + pad * d_.c);
    PairWindows(line, d_.sw * d_.c, d_.kw * d_.c, d_.ow, to);
    return;
  }
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
