#include "runtime/kernels/conv/depthwise.h"

#include <algorithm>

#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/base/dcheck.h"
#include "runtime/kernels/gemm/numbers.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {
namespace {

using gemm::AlignedFloats;
using gemm::kFloat;

// Of a row of the kernel, for one loop: so many pointers stay in registers.
constexpr int64_t kMostTaps = 7;

// Pixel p of a row of sums reads the channels at x + p * x_step, and for tap t those at
// t * x_tap from there, beside the numbers at kernel + t * kernel_tap.
struct TapsOfRow {
  const float* x;
  int64_t x_step, x_tap;
  const float* kernel;
  int64_t kernel_tap;
  float* sums;
  int64_t sum_step;
  int64_t pixels, channels;
};

// Some neighbouring pixels together: they share the numbers of the kernel, and where their taps are
// neighbours (x_tap is x_step) those of x, too. (dx of 7 x 7, 64 images of 28 x 28 x 96, AVX2, two
// workers: 9.4 ms one at a time, 6 four.)
template <int taps, int together, bool shares_x, bool accumulates>
[[gnu::always_inline]] inline void AddTapsOfPixels(const float* x, int64_t x_step, int64_t x_tap,
                                                   const float* kernel, int64_t kernel_tap,
                                                   float* sums, int64_t sum_step,
                                                   int64_t channels) {
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) {
    float of_kernel[taps], of_pixel[together];
#pragma GCC unroll 7
    for (int t = 0; t < taps; ++t) of_kernel[t] = kernel[t * kernel_tap + c];
#pragma GCC unroll 4
    for (int p = 0; p < together; ++p) of_pixel[p] = accumulates ? sums[p * sum_step + c] : 0.0f;
    if constexpr (shares_x) {
#pragma GCC unroll 10
      for (int read = 0; read < taps + together - 1; ++read) {
        const float of_x = x[read * x_step + c];
#pragma GCC unroll 4
        for (int p = 0; p < together; ++p) {
          if (read >= p && read - p < taps)
            of_pixel[p] = __builtin_fmaf(of_x, of_kernel[read - p], of_pixel[p]);
        }
      }
    } else {
#pragma GCC unroll 7
      for (int t = 0; t < taps; ++t) {
#pragma GCC unroll 4
        for (int p = 0; p < together; ++p)
          of_pixel[p] = __builtin_fmaf(x[p * x_step + t * x_tap + c], of_kernel[t], of_pixel[p]);
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < together; ++p) sums[p * sum_step + c] = of_pixel[p];
  }
}

template <int taps, bool shares_x, bool accumulates>
void AddTaps(const TapsOfRow& row) {
  const float* const x = row.x;
  const float* const kernel = row.kernel;
  float* const sums = row.sums;
  const int64_t x_step = row.x_step, x_tap = row.x_tap, kernel_tap = row.kernel_tap;
  const int64_t sum_step = row.sum_step, pixels = row.pixels, channels = row.channels;
  RunCloned([=]() __attribute__((always_inline)) {
    constexpr int kTogether = shares_x ? 4 : 2;
    int64_t pixel = 0;
    for (; pixel + kTogether <= pixels; pixel += kTogether) {
      AddTapsOfPixels<taps, kTogether, shares_x, accumulates>(
          x + pixel * x_step, x_step, x_tap, kernel, kernel_tap, sums + pixel * sum_step, sum_step,
          channels);
    }
    for (; pixel < pixels; ++pixel) {
      AddTapsOfPixels<taps, 1, shares_x, accumulates>(x + pixel * x_step, x_step, x_tap, kernel,
                                                      kernel_tap, sums + pixel * sum_step, sum_step,
                                                      channels);
    }
  });
}

TPURUN_CLONES void AddBias(const float* bias, int64_t channels, int64_t pixels, int64_t step,
                           float* sums) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel, sums += step) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) sums[c] += bias[c];
  }
}

// Adds to dk + t * channels the products of the channels of pixel p, at x + p * x_step + t * x_tap
// and at dy + p * channels, for rising p. The arrays begin at the first of `columns` channels.
struct ProductsOfRow {
  const float* x;
  int64_t x_step, x_tap;
  const float* dy;
  float* dk;
  int64_t pixels, channels, columns;
};

template <int taps>
void AddProducts(const ProductsOfRow& row) {
  const float* const x = row.x;
  const float* const dy = row.dy;
  float* const dk = row.dk;
  const int64_t x_step = row.x_step, x_tap = row.x_tap, pixels = row.pixels;
  const int64_t channels = row.channels, columns = row.columns;
  RunCloned([=]() __attribute__((always_inline)) {
    int64_t pixel = 0;
    // Two at a time: a sum is read and written half as often.
    for (; pixel + 2 <= pixels; pixel += 2) {
      const float* const first = x + pixel * x_step;
      const float* const second = first + x_step;
      const float* const of_y = dy + pixel * channels;
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) {
        const float y = of_y[c], next_y = of_y[channels + c];
#pragma GCC unroll 7
        for (int t = 0; t < taps; ++t) {
          const float sum = __builtin_fmaf(first[t * x_tap + c], y, dk[t * channels + c]);
          dk[t * channels + c] = __builtin_fmaf(second[t * x_tap + c], next_y, sum);
        }
      }
    }
    if (pixel == pixels) return;
    const float* const last = x + pixel * x_step;
    const float* const of_y = dy + pixel * channels;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c) {
#pragma GCC unroll 7
      for (int t = 0; t < taps; ++t)
        dk[t * channels + c] = __builtin_fmaf(last[t * x_tap + c], of_y[c], dk[t * channels + c]);
    }
  });
}

// run.template operator()<taps>() for 1 to kMostTaps taps.
template <typename Run>
void WithTaps(int64_t taps, const Run& run) {
  static_assert(kMostTaps == 7);
  switch (taps) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    case 4:
      return run.template operator()<4>();
    case 5:
      return run.template operator()<5>();
    case 6:
      return run.template operator()<6>();
    default:
      return run.template operator()<7>();
  }
}

}  // namespace

DepthwiseConvolution::DepthwiseConvolution(const ConvolutionDef& def, const gemm::Tiles& tiles)
    : DepthwiseConvolution(def, ImageOf(def.dims, def.is_input_grad), tiles) {}

DepthwiseConvolution::DepthwiseConvolution(const ConvolutionDef& def, const ConvolvedImage& image,
                                           const gemm::Tiles& tiles)
    : def_(def),
      h_(image.h),
      w_(image.w),
      channels_(def.dims.c),
      copies_kernel_(gemm::Converts(tiles, def.kernel.storage, def.kernel.part)),
      rows_(OperandDims(image, def.dims.n, channels_), def.operand, PaddedRows::Pairs::kChannels,
            PixelsRead(w_.axis), PaddedRows::kElements, tiles) {
  TPURUN_DCHECK(IsDepthwise(def.dims) && tiles.numbers == 1 && !def.kernel_is_packed);
}

int64_t DepthwiseConvolution::KernelFloats() const {
  return copies_kernel_ ? def_.dims.kh * def_.dims.kw * channels_ : 0;
}

int64_t DepthwiseConvolution::SumFloats() const {
  const int64_t width = def_.is_input_grad ? def_.dims.w : def_.dims.ow;
  return def_.result == gemm::Storage::kBF16 ? width * channels_ : 0;
}

int64_t DepthwiseConvolution::ScratchBytes() const {
  return (AlignedFloats(KernelFloats()) + AlignedFloats(SumFloats())) * kFloat +
         rows_.ScratchBytes();
}

int64_t DepthwiseConvolution::CopiedBytes(int64_t images) const {
  if (images == 0) return 0;
  const int64_t height = def_.is_input_grad ? def_.dims.h : def_.dims.oh;
  return (KernelFloats() + images * height * SumFloats()) * kFloat + rows_.CopiedBytes(images);
}

void DepthwiseConvolution::Run(const ConvolutionArgs& args) const {
  if (args.begin == args.end) return;
  gemm::ScratchFloats scratch(args.scratch);
  float* const copy = scratch.Take(KernelFloats());
  float* const sums = scratch.Take(SumFloats());
  void* const rows = scratch.rest();
  const float* kernel = static_cast<const float*>(args.kernel);
  if (copies_kernel_) {
    gemm::Convert(args.kernel, def_.kernel.storage, def_.kernel.part, KernelFloats(), copy);
    kernel = copy;
  }
  rows_.Begin(rows);
  for (int64_t image = args.begin; image < args.end; ++image) {
    for (int64_t row = 0; row < h_.axis.y; row += rows_.block_rows()) {
      const PaddedRows::Block block = rows_.Copy(args.operand, image, row, 0, h_.axis.kernel, rows);
      for (const Phase& ph : h_.phases) {
        const int64_t end = std::min(block.oh + block.rows, ph.count);
        for (const Phase& pw : w_.phases) {
          for (int64_t r = block.oh; r < end; ++r) RunRow(args, block, ph, pw, r, kernel, sums);
        }
      }
    }
  }
}

// The pixels of row `row` of a phase.
void DepthwiseConvolution::RunRow(const ConvolutionArgs& args, const PaddedRows::Block& block,
                                  const Phase& ph, const Phase& pw, int64_t row,
                                  const float* kernel, float* sums) const {
  const ConvDims& d = def_.dims;
  const int64_t height = def_.is_input_grad ? d.h : d.oh, width = def_.is_input_grad ? d.w : d.ow;
  const TapsInside inside(h_.axis, ph, row);
  const int64_t result_row = block.image * height + ph.first + row * ph.step;
  const int64_t first = (result_row * width + pw.first) * channels_;
  const bool rounds = def_.result == gemm::Storage::kBF16;
  TapsOfRow taps{.x_step = rows_.step_elements(),
                 .x_tap = w_.axis.dilation * channels_,
                 .kernel_tap = pw.kernel_step * channels_,
                 .sums = rounds ? sums : static_cast<float*>(args.result) + first,
                 .sum_step = (rounds ? 1 : pw.step) * channels_,
                 .pixels = pw.count,
                 .channels = channels_};
  bool accumulates = false;
  for (int64_t i = inside.begin; i < inside.end; ++i) {
    const int64_t h = inside.first_read + i * h_.axis.dilation;
    const float* const x = block.x + (h - block.h) * rows_.row_elements() + pw.begin * taps.x_tap;
    for (int64_t j = 0; j < pw.taps; j += kMostTaps) {
      taps.x = x + j * taps.x_tap;
      taps.kernel = kernel + (ph.KernelAt(i) * d.kw + pw.KernelAt(j)) * channels_;
      WithTaps(std::min(kMostTaps, pw.taps - j), [&]<int count>() {
        if (taps.x_tap == taps.x_step) {
          accumulates ? AddTaps<count, true, true>(taps) : AddTaps<count, true, false>(taps);
        } else {
          accumulates ? AddTaps<count, false, true>(taps) : AddTaps<count, false, false>(taps);
        }
      });
      accumulates = true;
    }
  }
  for (int64_t pixel = 0; !accumulates && pixel < pw.count; ++pixel)
    std::fill_n(taps.sums + pixel * taps.sum_step, channels_, 0.0f);
  if (args.bias != nullptr) AddBias(args.bias, channels_, pw.count, taps.sum_step, taps.sums);
  if (rounds) {
    for (int64_t pixel = 0; pixel < pw.count; ++pixel) {
      const float* const sum = taps.sums + pixel * taps.sum_step;
      RoundToBFloat16(sum, channels_,
                      static_cast<uint16_t*>(args.result) + first + pixel * pw.step * channels_);
    }
  }
}

DepthwiseFilterGrad::DepthwiseFilterGrad(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                                         const gemm::Tiles& tiles)
    : d_(dims),
      dy_(dy),
      copies_dy_(gemm::Converts(tiles, dy.storage, dy.part)),
      rows_(dims, x, PaddedRows::Pairs::kChannels, PixelsRead(ImageOf(dims, false).w.axis),
            PaddedRows::kElements, tiles) {
  TPURUN_DCHECK(IsDepthwise(dims) && tiles.numbers == 1);
}

int64_t DepthwiseFilterGrad::LineFloats() const { return copies_dy_ ? d_.ow * d_.f : 0; }

int64_t DepthwiseFilterGrad::ScratchBytes() const {
  return AlignedFloats(LineFloats()) * kFloat + rows_.ScratchBytes();
}

int64_t DepthwiseFilterGrad::CopiedBytes(int64_t, int64_t) const {
  return d_.n * d_.oh * LineFloats() * kFloat + rows_.CopiedBytes(d_.n);
}

const float* DepthwiseFilterGrad::RowOfDy(const FilterGradArgs& args, int64_t row,
                                          float* line) const {
  const void* const dy = gemm::At(args.dy, dy_.storage, row * d_.ow * d_.f);
  if (!copies_dy_) return static_cast<const float*>(dy);
  gemm::Convert(dy, dy_.storage, dy_.part, d_.ow * d_.f, line);
  return line;
}

void DepthwiseFilterGrad::Run(const FilterGradArgs& args) const {
  if (args.kh_begin == args.kh_end || args.f_begin == args.f_end) return;
  const int64_t columns = args.f_end - args.f_begin;
  for (int64_t tap = args.kh_begin * d_.kw; tap < args.kh_end * d_.kw; ++tap)
    std::fill_n(args.dk + tap * d_.f + args.f_begin, columns, 0.0f);
  gemm::ScratchFloats scratch(args.scratch);
  float* const line = scratch.Take(LineFloats());
  void* const rows = scratch.rest();
  rows_.Begin(rows);
  ProductsOfRow products{.x_step = rows_.step_elements(),
                         .x_tap = d_.dw * d_.c,
                         .pixels = d_.ow,
                         .channels = d_.f,
                         .columns = columns};
  for (int64_t image = 0; image < d_.n; ++image) {
    for (int64_t oh = 0; oh < d_.oh; oh += rows_.block_rows()) {
      const PaddedRows::Block block =
          rows_.Copy(args.x, image, oh, args.kh_begin, args.kh_end, rows);
      for (int64_t row = oh; row < oh + block.rows; ++row) {
        products.dy = RowOfDy(args, image * d_.oh + row, line) + args.f_begin;
        for (int64_t kh = args.kh_begin; kh < args.kh_end; ++kh) {
          const int64_t h = row * d_.sh + rows_.Shift(kh);
          if (h < 0 || h >= d_.h) continue;
          const float* const x = block.x + (h - block.h) * rows_.row_elements() + args.f_begin;
          for (int64_t kw = 0; kw < d_.kw; kw += kMostTaps) {
            products.x = x + kw * products.x_tap;
            products.dk = args.dk + (kh * d_.kw + kw) * d_.f + args.f_begin;
            WithTaps(std::min(kMostTaps, d_.kw - kw),
                     [&]<int count>() { AddProducts<count>(products); });
          }
        }
      }
    }
  }
}

}  // namespace tpurun::conv
