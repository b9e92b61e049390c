// Convolutions by minimal filtering beside one chain of std::fma for each element, within a bound,
// with the tiles of every instruction set that this processor has.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/kernels/conv/winograd_convolution.h"
#include "runtime/kernels/conv/winograd_filter_grad.h"
#include "tests/kernels/conv_case.h"
#include "tests/kernels/levels.h"

namespace tpurun::conv {
namespace {

// Tiles that go beyond the last row or column, parts of panels and several, several blocks, of
// several images and of a part of one, pads that differ, single channels and pixels, no image; long
// rows, of which copies and blocks hold one row of tiles (winograd_tiles.cc).
std::vector<ConvDims> WinogradCases() {
  ConvDims uneven = Dims(2, 7, 8, 3, 3, 3, 5, 1, 2);
  uneven.bottom = uneven.left = 0;
  uneven.oh = 7, uneven.ow = 8;
  return {Dims(2, 6, 8, 8, 3, 3, 16, 1, 1),   Dims(3, 5, 7, 5, 3, 3, 50, 1, 1),
          Dims(2, 14, 14, 9, 5, 5, 19, 1, 2), Dims(3, 9, 7, 32, 5, 5, 8, 1, 0),
          Dims(9, 8, 8, 7, 3, 3, 24, 1, 1),   Dims(2, 40, 51, 4, 3, 3, 10, 1, 1),
          Dims(1, 3, 3, 1, 3, 3, 1, 1, 0),    Dims(2, 5, 5, 17, 5, 5, 33, 1, 4),
          Dims(0, 4, 4, 2, 3, 3, 4, 1, 1),    Dims(2, 1, 1, 3, 3, 3, 4, 1, 1),
          Dims(1, 6, 120, 64, 3, 3, 5, 1, 1), uneven};
}

std::vector<Level> LevelsOfSingleNumbers() {
  std::vector<Level> levels = gemm::Levels();
  std::erase_if(levels, [](const Level& level) { return gemm::MultipliesBF16(*level.tiles); });
  return levels;
}

Array Absolute(Array array) {
  for (float& number : array.f32) number = std::fabs(number);
  return array;
}

// The bound is relative to the largest sum of absolute products: a pixel's error is that of its
// tile.
void ExpectNear(const std::vector<float>& got, const std::vector<float>& want,
                const std::vector<float>& absolute_sums) {
  if (want.empty()) return;
  const float bound = 32 * 0x1p-24f * *std::max_element(absolute_sums.begin(), absolute_sums.end());
  for (int64_t i = 0; i < std::ssize(want); ++i) ASSERT_NEAR(got[i], want[i], bound) << i;
}

TEST(Winograd, ConvolutionsAreNearChains) {
  for (const ConvDims& d : WinogradCases()) {
    for (const bool is_input_grad : {false, true}) {
      for (const Form& form : kForms) {
        const Array operand = OperandOf(d, form, is_input_grad), kernel = KernelOf(d, form),
                    bias(d.f, false, 3);
        std::vector<float> want = Expected(d, form, is_input_grad, operand, kernel);
        const std::vector<float> absolute =
            Expected(d, form, is_input_grad, Absolute(operand), Absolute(kernel));
        for (int64_t i = 0; !is_input_grad && i < std::ssize(want); ++i)
          want[i] += bias.f32[i % d.f];
        std::vector<float> first;
        for (const Level& level : LevelsOfSingleNumbers()) {
          SCOPED_TRACE(Told(level, d, form) + (is_input_grad ? " gradient" : ""));
          const WinogradConvolution product({.dims = d,
                                             .is_input_grad = is_input_grad,
                                             .operand = {operand.storage(), form.part()},
                                             .kernel = {kernel.storage(), form.part()}},
                                            *level.tiles);
          const std::vector<float> y = ConvolvedImages(product, d, std::ssize(want), false, operand,
                                                       kernel, is_input_grad ? nullptr : &bias)
                                           .y;
          ExpectNear(y, want, absolute);
          if (HasFatalFailure()) return;
          if (first.empty()) first = y;
          ASSERT_EQ(y, first) << "other bits than those of another instruction set";
          // All images at once.
          std::vector<float> together(want.size(), 7);
          Scratch scratch(product.ScratchBytes());
          product.Run({.operand = operand.data(),
                       .kernel = kernel.data(),
                       .bias = is_input_grad ? nullptr : bias.f32.data(),
                       .result = together.data(),
                       .end = d.n,
                       .scratch = scratch.data()});
          ASSERT_TRUE(scratch.IsWhole());
          ASSERT_TRUE(std::equal(together.begin(), together.end(), y.begin()));
        }
      }
    }
  }
}

TEST(Winograd, FilterGradientsAreNearChains) {
  for (const ConvDims& d : WinogradCases()) {
    for (const Form& form : kForms) {
      const Array x = OperandOf(d, form, false), dy = DyOf(d, form);
      const PixelOrder order = {d.ow, d.oh * d.ow};
      const std::vector<float> want =
          ExpectedFilterGrad(d, form, order, gemm::Order::kChain, x, dy);
      const std::vector<float> absolute =
          ExpectedFilterGrad(d, form, order, gemm::Order::kChain, Absolute(x), Absolute(dy));
      std::vector<float> first;
      for (const Level& level : LevelsOfSingleNumbers()) {
        SCOPED_TRACE(Told(level, d, form));
        const WinogradFilterGrad product(d, {x.storage(), form.part()}, {dy.storage(), form.part()},
                                         *level.tiles);
        const std::vector<float> dk = FilterGradInParts(d, product, d.kh, x, dy);
        ExpectNear(dk, want, absolute);
        if (HasFatalFailure()) return;
        if (first.empty()) first = dk;
        ASSERT_EQ(dk, first) << "other bits than those of another instruction set";
        // In one part.
        std::vector<float> whole(want.size(), 7);
        Scratch scratch(product.ScratchBytes());
        product.Run({.x = x.data(),
                     .dy = dy.data(),
                     .dk = whole.data(),
                     .kh_end = d.kh,
                     .f_end = d.f,
                     .scratch = scratch.data()});
        ASSERT_TRUE(scratch.IsWhole());
        ASSERT_EQ(whole, dk) << "in one part";
      }
    }
  }
}

TEST(Winograd, ComputesSquareKernelsOfThreeAndFiveTapsWithoutStrides) {
  EXPECT_TRUE(HasWinograd(Dims(2, 6, 8, 8, 3, 3, 16, 1, 1)));
  EXPECT_TRUE(HasWinograd(Dims(2, 6, 8, 8, 5, 5, 16, 1, 4)));
  for (const ConvDims& d :
       {Dims(2, 6, 8, 8, 3, 5, 16, 1, 1), Dims(2, 6, 8, 8, 1, 1, 16), Dims(2, 8, 8, 8, 7, 7, 16),
        Dims(2, 6, 8, 8, 3, 3, 16, 2, 1), Dims(2, 9, 9, 8, 3, 3, 16, 1, 2, 2)}) {
    EXPECT_FALSE(HasWinograd(d));
  }
  for (int64_t ConvDims::*const pad :
       {&ConvDims::top, &ConvDims::bottom, &ConvDims::left, &ConvDims::right}) {
    ConvDims d = Dims(2, 6, 8, 8, 3, 3, 16, 1, 1);
    d.*pad = 3;
    EXPECT_FALSE(HasWinograd(d));
  }
  for (int64_t ConvDims::*const two :
       {&ConvDims::sh, &ConvDims::sw, &ConvDims::dh, &ConvDims::dw, &ConvDims::groups}) {
    ConvDims d = Dims(2, 6, 8, 8, 3, 3, 16, 1, 1);
    d.*two = 2;
    EXPECT_FALSE(HasWinograd(d));
  }
}

}  // namespace
}  // namespace tpurun::conv
