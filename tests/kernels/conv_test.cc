// The convolutions of runtime/kernels/conv beside one chain of std::fma for each element, with the
// tiles of every instruction set that this processor has, bit for bit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/kernels/conv/convolution.h"
#include "runtime/kernels/conv/depthwise.h"
#include "runtime/kernels/conv/filter_grad.h"
#include "runtime/kernels/conv/pixel_products.h"
#include "runtime/kernels/conv/shifted_images.h"
#include "tests/kernels/conv_case.h"
#include "tests/kernels/levels.h"

namespace tpurun::conv {
namespace {

// Parts of tiles and panels, several panels, several blocks of rows, pads wider than the image,
// strides that leave pixels out.
std::vector<ConvDims> Cases() {
  return {
      Dims(2, 5, 7, 4, 3, 3, 5, 1, 1), Dims(1, 8, 9, 4, 3, 3, 20, 2, 1),
      Dims(2, 6, 6, 2, 5, 5, 50, 1, 2), Dims(1, 7, 8, 6, 1, 1, 17, 2),
      Dims(1, 3, 3, 2, 5, 5, 4, 1, 2), Dims(1, 40, 50, 34, 3, 3, 18, 1, 1),
      Dims(1, 4, 11, 2, 3, 2, 3, 3, 2), Dims(1, 9, 9, 4, 3, 3, 33, 1, 2, 2),
      Dims(1, 2, 2, 2, 3, 3, 3, 1, 3), Dims(1, 5, 5, 300, 1, 1, 40),
      Dims(2, 6, 5, 3, 3, 3, 8, 1, 1), Dims(1, 12, 12, 1, 5, 5, 32, 1, 2),
      // Copies of two images, then of one (shifted_images.h).
      Dims(3, 40, 50, 4, 3, 3, 18, 1, 1), Dims(0, 4, 4, 2, 3, 3, 4),
      Dims(2, 5, 6, 2, 3, 3, 48, 1, 1), Dims(1, 3, 4, 2, 3, 3, 24, 1, 5),
      Uneven(Dims(1, 6, 7, 2, 3, 3, 5, 1, 1)),
      // Odd channels: pairs of neighbours in a window.
      Dims(2, 21, 23, 3, 7, 7, 20, 2, 3), Dims(1, 6, 9, 1, 3, 6, 18, 1, 2),
      Dims(1, 7, 7, 5, 1, 1, 3), Dims(2, 7, 8, 3, 3, 3, 5, 1, -1),
      Uneven(Dims(1, 9, 12, 1, 3, 5, 4, 2, 1)), Dims(1, 60, 200, 3, 3, 3, 17, 1, 1),
      Dims(1, 9, 8, 3, 3, 3, 70, 1, 1, 2), Dims(1, 2, 3, 1, 5, 5, 3, 1, 4),
      // Pads below 0 leave pixels out.
      Dims(2, 7, 8, 4, 3, 3, 5, 1, -1),
      // Gradients of x at strides: pixels that none reads, pads that are wider than a window,
      // pixels fewer than the stride, several blocks.
      Dims(2, 9, 8, 4, 3, 3, 6, 2, 1), Dims(1, 8, 11, 17, 1, 1, 6, 3, 2),
      Dims(1, 7, 9, 3, 5, 4, 8, 2, 3), Dims(1, 1, 2, 2, 3, 3, 4, 4, 1),
      Dims(1, 56, 61, 50, 3, 3, 34, 2, 1), Dims(1, 13, 13, 33, 2, 2, 4, 5, 0),
      Uneven(Dims(2, 9, 8, 4, 3, 3, 6, 2, 1)), Uneven(Dims(1, 12, 11, 3, 5, 4, 8, 3, 2)),
      // Several blocks of each of several images.
      Dims(3, 5, 2000, 12, 3, 3, 4, 1, 1),
      // Dilations along the width: pads wider than the image, one column, rows of the kernel
      // outside the image, odd channels, several blocks.
      Dilated(Dims(2, 5, 12, 4, 3, 3, 5, 1, 1), 2), Dilated(Dims(1, 8, 15, 4, 3, 3, 20, 2, 1), 3),
      Dilated(Dims(1, 9, 15, 4, 3, 3, 33, 1, 2, 2), 2),
      Dilated(Dims(2, 1, 40, 6, 1, 5, 17, 1, 6), 3), Dilated(Dims(1, 3, 4, 2, 3, 3, 24, 1, 5), 4),
      Dilated(Dims(1, 5, 9, 2, 5, 4, 50, 1, 4), 2), Dilated(Dims(1, 6, 6, 2, 3, 1, 5, 1, 1), 3),
      Dilated(Dims(2, 7, 13, 3, 3, 3, 5, 1, 2), 2), Dilated(Dims(2, 7, 13, 4, 3, 3, 5, 1, -1), 2),
      Dilated(Dims(1, 40, 50, 34, 3, 3, 18, 1, 1), 4), Dilated(Dims(0, 4, 9, 2, 3, 3, 4), 2)};
}

// Tiles of bf16 numbers round them.
bool Multiplies(const Level& level, const Form& form) {
  return form.rounds || !gemm::MultipliesBF16(*level.tiles);
}

PixelOrder OrderOfShiftedImages(const ConvDims& d) {
  const auto first_pixel = [&](int64_t kw) {
    return static_cast<int64_t>(
        std::floor(static_cast<double>(kw - d.left) / static_cast<double>(d.sw)));
  };
  const int64_t row = d.ow + first_pixel(d.kw - 1) - first_pixel(0);
  return {row, ((d.oh - 1) * row + d.ow + 31) / 32 * 32};
}

template <typename Product>
void ExpectFilterGrad(const Level& level, const ConvDims& d, const Form& form, const Array& x,
                      const Array& dy, const std::vector<float>& want) {
  SCOPED_TRACE(Told(level, d, form));
  const Product product(d, {x.storage(), form.part()}, {dy.storage(), form.part()}, *level.tiles);
  const std::vector<float> dk = FilterGradInParts(d, product, d.kh / 2, x, dy);
  for (int64_t i = 0; i < std::ssize(dk); ++i) ASSERT_EQ(dk[i], want[i]) << i;
}

// The kernel in the panels that PackedKernel describes.
Array Packed(const PackedKernel& packing, const ConvolutionDef& def, const gemm::Tiles& tiles,
             const Array& kernel) {
  const ConvDims& d = def.dims;
  const int64_t pixels = d.kh * d.kw, in = def.is_input_grad ? d.f : d.c;
  Array packed(0, false, 0);
  packed.f32.assign(packing.Floats(d), 0.0f);
  for (int64_t i = 0; i < pixels * d.c * d.f; ++i) {
    const int64_t kernel_pixel = i / (d.c * d.f), c = i / d.f % d.c, f = i % d.f;
    const int64_t pixel = packing.falls ? pixels - 1 - kernel_pixel : kernel_pixel;
    const int64_t k = def.is_input_grad ? f : c, column = def.is_input_grad ? c : f;
    const int64_t row =
        (column / packing.columns * pixels + pixel) * (in / tiles.numbers) + k / tiles.numbers;
    float& element = packed.f32[row * packing.columns + column % packing.columns];
    if (tiles.numbers == 1) {
      element = def.kernel.part == 0 ? RoundToBFloat16(kernel.f32[i]) : kernel.f32[i];
    } else {
      // The first number of a pair is in the upper half.
      const uint32_t bits = BFloat16Bits(kernel.f32[i]);
      element = std::bit_cast<float>(std::bit_cast<uint32_t>(element) |
                                     bits << (k % tiles.numbers == 0 ? 16 : 0));
    }
  }
  return packed;
}

// A kernel that is packed before the call gives the same bits.
void ExpectSameOfPacked(const Level& level, ConvolutionDef def, const Array& operand,
                        const Array& kernel, int64_t size) {
  const std::optional<PackedKernel> packing = Convolution::Packing(def, *level.tiles);
  if (!packing) return;
  const bool in_bf16 = def.result == Storage::kBF16;
  const auto result = [&](const Array& of) {
    return ConvolvedImages(Convolution(def, *level.tiles), def.dims, size, in_bf16, operand, of,
                           nullptr);
  };
  const ResultNumbers want = result(kernel);
  const Array packed = Packed(*packing, def, *level.tiles, kernel);
  def.kernel_is_packed = true;
  const ResultNumbers got = result(packed);
  EXPECT_EQ(got.y, want.y);
  EXPECT_EQ(got.y_bf16, want.y_bf16);
}

ConvolutionDef DefOf(const ConvDims& d, const Form& form, bool is_input_grad, const Array& operand,
                     const Array& kernel) {
  return {.dims = d,
          .is_input_grad = is_input_grad,
          .operand = {operand.storage(), form.part()},
          .kernel = {kernel.storage(), form.part()},
          .result = operand.storage()};
}

// `want` but for the bias.
template <typename Product>
void ExpectBits(const Level& level, const ConvolutionDef& def, const Form& form,
                const Array& operand, const Array& kernel, std::vector<float> want) {
  const ConvDims& d = def.dims;
  const bool is_input_grad = def.is_input_grad;
  SCOPED_TRACE(Told(level, d, form) + (is_input_grad ? " gradient" : ""));
  const Array bias(d.f, false, 3);
  const Product product(def, *level.tiles);
  const ResultNumbers got = ConvolvedImages(product, d, std::ssize(want), form.in_bf16, operand,
                                            kernel, is_input_grad ? nullptr : &bias);
  for (int64_t i = 0; i < std::ssize(want); ++i) {
    if (!is_input_grad) want[i] += bias.f32[i % d.f];
    if (form.in_bf16) {
      ASSERT_EQ(got.y_bf16[i], BFloat16Bits(want[i])) << i;
    } else {
      ASSERT_EQ(got.y[i], want[i]) << i;
    }
  }
}

void ExpectConvolution(const Level& level, const ConvDims& d, const Form& form, bool is_input_grad,
                       const Array& operand, const Array& kernel, const std::vector<float>& want) {
  const ConvolutionDef def = DefOf(d, form, is_input_grad, operand, kernel);
  if (!Convolution::Fills(def, *level.tiles)) return;
  SCOPED_TRACE(Told(level, d, form));
  ExpectSameOfPacked(level, def, operand, kernel, std::ssize(want));
  ExpectBits<Convolution>(level, def, form, operand, kernel, want);
}

// Those whose tiles read x row by row do not convolve.
std::vector<Level> ConvolvingLevels() {
  std::vector<Level> levels = gemm::Levels();
  std::erase_if(levels, [](const Level& level) { return level.tiles->row_unit > 1; });
  return levels;
}

TEST(Convolution, EveryElementIsOneChain) {
  const std::vector<Level> levels = ConvolvingLevels();
  for (const ConvDims& d : Cases()) {
    for (const bool is_input_grad : {false, true}) {
      if (is_input_grad && ((d.sh > 1 && d.dh > 1) || (d.sw > 1 && d.dw > 1))) continue;
      for (const Form& form : kForms) {
        const Array operand = OperandOf(d, form, is_input_grad), kernel = KernelOf(d, form);
        const std::vector<float> want = Expected(d, form, is_input_grad, operand, kernel);
        for (const Level& level : levels) {
          if (!Multiplies(level, form)) continue;
          ExpectConvolution(level, d, form, is_input_grad, operand, kernel, want);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Convolution, FillsElements) {
  const auto fills = [](const ConvDims& d, bool is_input_grad, const gemm::Tiles& tiles) {
    return Convolution::Fills({.dims = d, .is_input_grad = is_input_grad}, tiles);
  };
  const gemm::Tiles& tiles = gemm::kAvx512BFloat16Tiles;
  EXPECT_TRUE(fills(Dims(1, 9, 9, 1, 5, 5, 3), false, tiles));
  EXPECT_TRUE(fills(Dims(1, 9, 9, 3, 2, 2, 3), false, tiles));
  EXPECT_TRUE(fills(Dims(1, 9, 9, 2, 1, 1, 3), false, tiles));
  EXPECT_FALSE(fills(Dims(1, 9, 9, 3, 1, 1, 3), false, tiles)) << "one row reads the copy";
  EXPECT_FALSE(fills(Dims(1, 9, 9, 1, 3, 3, 3), false, tiles)) << "few numbers";
  EXPECT_TRUE(fills(Dims(1, 9, 3000, 3, 3, 9, 3), false, tiles));
  EXPECT_FALSE(fills(Dims(1, 9, 6000, 3, 3, 9, 3), false, tiles)) << "a row needs a large copy";
  EXPECT_FALSE(fills(Dims(1, 9, 9, 2, 5, 5, 3), true, tiles));
  EXPECT_FALSE(fills(Dilated(Dims(1, 9, 9, 3, 2, 2, 3), 2), false, tiles)) << "no neighbours";
  EXPECT_TRUE(fills(Dilated(Dims(1, 40, 9, 4, 16, 2, 3), 2), false, tiles));
  EXPECT_FALSE(fills(Dilated(Dims(1, 40, 9, 4, 17, 2, 3), 2), false, tiles)) << "many rows";
  EXPECT_TRUE(fills(Dims(1, 9, 9, 1, 1, 1, 3), true, gemm::kAvx512Tiles));
}

// Also the neighbour that an odd number of a window has.
TEST(Convolution, AnInfinityReachesOnlyWhatReadsIt) {
  for (const ConvDims& d : {Dims(1, 6, 7, 1, 5, 5, 4, 1, 2), Dims(1, 6, 7, 3, 3, 5, 4, 1, 2),
                            Dims(1, 6, 7, 2, 3, 3, 4, 1, 1)}) {
    const Form form{.rounds = true};
    Array x = OperandOf(d, form, false);
    const Array kernel = KernelOf(d, form);
    for (const int64_t at : {3 * d.w * d.c, (3 * d.w + 3) * d.c, (4 * d.w - 1) * d.c}) {
      const float before = std::exchange(x.f32[at], std::numeric_limits<float>::infinity());
      const std::vector<float> want = Expected(d, form, false, x, kernel);
      for (const Level& level : ConvolvingLevels())
        ExpectConvolution(level, d, form, false, x, kernel, want);
      x.f32[at] = before;
    }
  }
}

TEST(FilterGrad, EveryElementIsOneSum) {
  for (const ConvDims& d : Cases()) {
    for (const Form& form : kForms) {
      const Array x = OperandOf(d, form, false), dy = DyOf(d, form);
      const PixelOrder in_order = {d.ow, d.oh * d.ow};
      const std::vector<float> chains =
          ExpectedFilterGrad(d, form, in_order, gemm::Order::kChain, x, dy);
      for (const Level& level : gemm::Levels()) {
        if (!Multiplies(level, form)) continue;
        if (level.tiles->row_unit == 1) {
          ExpectFilterGrad<FilterGrad>(level, d, form, x, dy, chains);
          ExpectFilterGrad<PixelProducts>(level, d, form, x, dy, chains);
          if (HasFatalFailure()) return;
          continue;
        }
        const auto sums = [&](const PixelOrder& order) {
          return ExpectedFilterGrad(d, form, order, gemm::OrderOf(*level.tiles), x, dy);
        };
        if (d.dw == 1)
          ExpectFilterGrad<ShiftedImages>(level, d, form, x, dy, sums(OrderOfShiftedImages(d)));
        ExpectFilterGrad<PixelProducts>(level, d, form, x, dy, sums(in_order));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Whole vectors and parts of them, rows of 8 taps, strides, dilations, wide pads, pads below 0,
// several blocks of rows, no image.
std::vector<ConvDims> DepthwiseCases() {
  const std::vector<ConvDims> cases = {Dims(2, 5, 7, 4, 3, 3, 1, 1, 1),
                                       Dims(1, 8, 9, 20, 3, 3, 1, 2, 1),
                                       Dims(2, 6, 6, 33, 5, 5, 1, 1, 2),
                                       Dims(1, 9, 20, 16, 8, 15, 1, 1, 7),
                                       Dims(1, 3, 3, 2, 5, 5, 1, 1, 2),
                                       Dims(1, 40, 50, 64, 3, 3, 1, 1, 1),
                                       Dims(1, 9, 9, 4, 3, 3, 1, 1, 2, 2),
                                       Dims(1, 2, 2, 2, 3, 3, 1, 1, 3),
                                       Dims(2, 7, 8, 4, 3, 3, 1, 1, -1),
                                       Dims(2, 9, 8, 4, 3, 3, 1, 2, 1),
                                       Dims(1, 8, 11, 17, 1, 1, 1, 3, 2),
                                       Dims(1, 1, 2, 2, 3, 3, 1, 4, 1),
                                       Dims(0, 4, 4, 2, 3, 3, 1),
                                       Dims(2, 1, 40, 6, 1, 4, 1, 1, 3),
                                       Uneven(Dims(1, 12, 11, 3, 5, 4, 1, 3, 2)),
                                       Dilated(Dims(2, 5, 12, 4, 3, 3, 1, 1, 1), 2),
                                       Dilated(Dims(1, 3, 4, 2, 3, 3, 1, 1, 5), 4)};
  std::vector<ConvDims> depthwise;
  for (const ConvDims& d : cases) depthwise.push_back(Depthwise(d));
  return depthwise;
}

TEST(DepthwiseConvolution, EveryElementIsOneChain) {
  for (const ConvDims& d : DepthwiseCases()) {
    for (const bool is_input_grad : {false, true}) {
      if (is_input_grad && ((d.sh > 1 && d.dh > 1) || (d.sw > 1 && d.dw > 1))) continue;
      for (const Form& form : kForms) {
        const Array operand = OperandOf(d, form, is_input_grad), kernel = KernelOf(d, form);
        const std::vector<float> want = Expected(d, form, is_input_grad, operand, kernel);
        for (const Level& level : gemm::Levels()) {
          if (level.tiles->numbers > 1) continue;
          const ConvolutionDef def = DefOf(d, form, is_input_grad, operand, kernel);
          ExpectBits<DepthwiseConvolution>(level, def, form, operand, kernel, want);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(DepthwiseFilterGrad, EveryElementIsOneChain) {
  for (const ConvDims& d : DepthwiseCases()) {
    for (const Form& form : kForms) {
      const Array x = OperandOf(d, form, false), dy = DyOf(d, form);
      const std::vector<float> want =
          ExpectedFilterGrad(d, form, {d.ow, d.oh * d.ow}, gemm::Order::kChain, x, dy);
      for (const Level& level : gemm::Levels()) {
        if (level.tiles->numbers > 1) continue;
        ExpectFilterGrad<DepthwiseFilterGrad>(level, d, form, x, dy, want);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Gradients of the last layers of a ResNet-50 do, those of its first layers do not. A single block
// is written once. Tiles of few lanes are read and written faster.
TEST(FilterGrad, ManyChannelsAddFewPixelsAtATime) {
  const auto adds_few = [](const ConvDims& d, const gemm::Tiles& tiles) {
    return FilterGrad(d, {}, {}, tiles).AddsFewPixels();
  };
  for (const gemm::Tiles* tiles :
       {&gemm::kAvx2Tiles, &gemm::kAvx512Tiles, &gemm::kAvx512BFloat16Tiles}) {
    EXPECT_TRUE(adds_few(Dims(4, 14, 14, 1024, 1, 1, 2048, 2), *tiles));
    EXPECT_TRUE(adds_few(Dims(4, 7, 7, 2048, 1, 1, 512), *tiles));
    EXPECT_FALSE(adds_few(Dims(4, 56, 56, 64, 3, 3, 64, 1, 1), *tiles));
    EXPECT_FALSE(adds_few(Dims(1, 4, 4, 16, 3, 3, 16, 1, 1), *tiles));
  }
  const ConvDims wide = Dims(4, 7, 7, 512, 3, 3, 512, 1, 1);
  EXPECT_TRUE(adds_few(wide, gemm::kAvx2Tiles));
  EXPECT_FALSE(adds_few(wide, gemm::kAvx512Tiles));
  EXPECT_TRUE(adds_few(wide, gemm::kAvx512BFloat16Tiles));
}

}  // namespace
}  // namespace tpurun::conv
