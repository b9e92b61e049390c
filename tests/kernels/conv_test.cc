// The convolutions of runtime/kernels/conv beside one chain of std::fma for each element, with the
// tiles of every instruction set that this processor has: bit for bit, or those of minimal
// filtering within a bound.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/kernels/conv/convolution.h"
#include "runtime/kernels/conv/filter_grad.h"
#include "runtime/kernels/conv/pixel_products.h"
#include "runtime/kernels/conv/shifted_images.h"
#include "runtime/kernels/conv/winograd_convolution.h"
#include "runtime/kernels/conv/winograd_filter_grad.h"
#include "tests/kernels/levels.h"

namespace tpurun::conv {
namespace {

using gemm::Level;
using gemm::Storage;

ConvDims Dims(int64_t n, int64_t h, int64_t w, int64_t c, int64_t kh, int64_t kw, int64_t f,
              int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1) {
  return {.n = n,
          .h = h,
          .w = w,
          .c = c,
          .kh = kh,
          .kw = kw,
          .f = f,
          .oh = (h + 2 * pad - (kh - 1) * dilation - 1) / stride + 1,
          .ow = (w + 2 * pad - kw) / stride + 1,
          .sh = stride,
          .sw = stride,
          .dh = dilation,
          .dw = 1,
          .top = pad,
          .bottom = pad,
          .left = pad,
          .right = pad,
          .groups = 1};
}

// One row of pads above and three pixels on the left, none below and on the right. Strides above 1
// differ.
ConvDims Uneven(ConvDims d) {
  d.top = 1;
  d.left = 3;
  d.bottom = d.right = 0;
  if (d.sh > 1) d.sw = d.sh + 1;
  d.oh = (d.h + d.top - d.kh) / d.sh + 1;
  d.ow = (d.w + d.left - d.kw) / d.sw + 1;
  return d;
}

// Parts of tiles and panels, several panels, several blocks of rows, pads wider than the image,
// strides that leave pixels out.
std::vector<ConvDims> Cases() {
  return {Dims(2, 5, 7, 4, 3, 3, 5, 1, 1), Dims(1, 8, 9, 4, 3, 3, 20, 2, 1),
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
          Dims(3, 5, 2000, 12, 3, 3, 4, 1, 1)};
}

// An array as it is stored, and its numbers.
struct Array {
  Array(int64_t size, bool in_bf16, unsigned seed) : f32(size), bf16(size), is_bf16(in_bf16) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> number(-1, 1);
    for (int64_t i = 0; i < size; ++i) {
      f32[i] = number(random);
      bf16[i] = BFloat16Bits(f32[i]);
      if (is_bf16) f32[i] = FromBFloat16Bits(bf16[i]);
    }
  }
  const void* data() const { return is_bf16 ? static_cast<const void*>(bf16.data()) : f32.data(); }
  Storage storage() const { return is_bf16 ? Storage::kBF16 : Storage::kF32; }

  std::vector<float> f32;
  std::vector<uint16_t> bf16;
  bool is_bf16;
};

// What a call is given besides dimensions.
struct Form {
  bool in_bf16 = false;  // operands, and y of a convolution
  bool rounds = false;   // multiplies part 0

  float Part(float number) const { return rounds ? RoundToBFloat16(number) : number; }
  int part() const { return rounds ? 0 : gemm::kWhole; }
};

constexpr Form kForms[] = {{false, false}, {false, true}, {true, false}, {true, true}};

// Tiles of bf16 numbers round them.
bool Multiplies(const Level& level, const Form& form) {
  return form.rounds || !gemm::MultipliesBF16(*level.tiles);
}

// Memory of an array's size that is NaN, and behind it bytes that nobody may write.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : bytes_(bytes), memory_(bytes + kBehind + 64, 0xff) {}
  void* data() { return memory_.data() + 64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64; }
  bool IsWhole() {
    const auto* const behind = static_cast<unsigned char*>(data()) + bytes_;
    for (int i = 0; i < kBehind - 64; ++i) {
      if (behind[i] != 0xff) return false;
    }
    return true;
  }

 private:
  static constexpr int kBehind = 1024;
  int64_t bytes_;
  std::vector<unsigned char> memory_;
};

std::string Told(const Level& level, const ConvDims& d, const Form& form) {
  std::string text = level.name;
  for (const int64_t size : {d.n, d.h, d.w, d.c, d.kh, d.kw, d.f, d.sh, d.top, d.dh})
    text += " " + std::to_string(size);
  return text + (form.in_bf16 ? " bf16" : "") + (form.rounds ? " rounds" : "");
}

// f(h, w) for the pixel of x that pixel (oh, ow) of y reads at (kh, kw), if there is one.
template <typename F>
void IfInside(const ConvDims& d, int64_t oh, int64_t ow, int64_t kh, int64_t kw, F f) {
  const int64_t h = oh * d.sh + kh * d.dh - d.top, w = ow * d.sw + kw - d.left;
  if (h >= 0 && h < d.h && w >= 0 && w < d.w) f(h, w);
}

// The order in which a sum takes the pixels of dy: rows of so many pixels and images of so many.
// Those behind the pixels of a row or of an image are zeros.
struct PixelOrder {
  int64_t row, image;
};

PixelOrder OrderOfShiftedImages(const ConvDims& d) {
  const auto first_pixel = [&](int64_t kw) {
    return static_cast<int64_t>(
        std::floor(static_cast<double>(kw - d.left) / static_cast<double>(d.sw)));
  };
  const int64_t row = d.ow + first_pixel(d.kw - 1) - first_pixel(0);
  return {row, ((d.oh - 1) * row + d.ow + 31) / 32 * 32};
}

std::vector<float> ExpectedFilterGrad(const ConvDims& d, const Form& form, const PixelOrder& order,
                                      gemm::Order sums, const Array& x, const Array& dy) {
  std::vector<float> want(d.kh * d.kw * d.c * d.f);
  for (int64_t i = 0; i < std::ssize(want); ++i) {
    const int64_t f = i % d.f, c = i / d.f % d.c, kw = i / d.f / d.c % d.kw,
                  kh = i / d.f / d.c / d.kw;
    const auto of_x = [&](int64_t place) {
      const int64_t n = place / order.image, oh = place % order.image / order.row,
                    ow = place % order.image % order.row;
      float number = 0;
      if (oh >= d.oh || ow >= d.ow) return number;
      IfInside(d, oh, ow, kh, kw, [&](int64_t h, int64_t w) {
        number = form.Part(x.f32[((n * d.h + h) * d.w + w) * d.c + c]);
      });
      return number;
    };
    const auto of_dy = [&](int64_t place) {
      const int64_t n = place / order.image, oh = place % order.image / order.row,
                    ow = place % order.image % order.row;
      if (oh >= d.oh || ow >= d.ow) return 0.0f;
      return form.Part(dy.f32[((n * d.oh + oh) * d.ow + ow) * d.f + f]);
    };
    want[i] = gemm::Sum(sums, d.n * order.image, 0.0f, of_x, of_dy);
  }
  return want;
}

// Computes dk in parts of rows kh, up to row `cut` and from it on, and of columns.
template <typename Product>
std::vector<float> FilterGradInParts(const ConvDims& d, const Product& product, int64_t cut,
                                     const Array& x, const Array& dy) {
  std::vector<float> dk(d.kh * d.kw * d.c * d.f, 7);
  Scratch scratch(product.ScratchBytes());
  const int64_t f_cut = d.f / 3;
  for (const auto& [kh, kh_end] : {std::pair<int64_t, int64_t>{0, cut}, {cut, d.kh}}) {
    for (const auto& [f, f_end] : {std::pair<int64_t, int64_t>{0, f_cut}, {f_cut, d.f}}) {
      if (kh == kh_end) continue;
      product.Run({.x = x.data(),
                   .dy = dy.data(),
                   .dk = dk.data(),
                   .kh_begin = kh,
                   .kh_end = kh_end,
                   .f_begin = f,
                   .f_end = f_end,
                   .scratch = scratch.data()});
    }
  }
  EXPECT_TRUE(scratch.IsWhole());
  return dk;
}

template <typename Product>
void ExpectFilterGrad(const Level& level, const ConvDims& d, const Form& form, const Array& x,
                      const Array& dy, const std::vector<float>& want) {
  SCOPED_TRACE(Told(level, d, form));
  const Product product(d, {x.storage(), form.part()}, {dy.storage(), form.part()}, *level.tiles);
  const std::vector<float> dk = FilterGradInParts(d, product, d.kh / 2, x, dy);
  for (int64_t i = 0; i < std::ssize(dk); ++i) ASSERT_EQ(dk[i], want[i]) << i;
}

// What a convolution or its gradient of x must be, but for the bias.
std::vector<float> Expected(const ConvDims& d, const Form& form, bool is_input_grad,
                            const Array& operand, const Array& kernel) {
  std::vector<float> want(is_input_grad ? d.n * d.h * d.w * d.c : d.n * d.oh * d.ow * d.f, 0.0f);
  const auto add = [&](int64_t x, int64_t y, int64_t k) {
    float& sum = want[is_input_grad ? x : y];
    sum = std::fma(form.Part(operand.f32[is_input_grad ? y : x]), form.Part(kernel.f32[k]), sum);
  };
  for (int64_t pixel = 0; pixel < d.n * d.oh * d.ow; ++pixel) {
    const int64_t n = pixel / d.oh / d.ow;
    for (int64_t tap = 0; tap < d.kh * d.kw; ++tap) {
      IfInside(d, pixel / d.ow % d.oh, pixel % d.ow, tap / d.kw, tap % d.kw,
               [&](int64_t h, int64_t w) {
                 for (int64_t c = 0; c < d.c; ++c) {
                   for (int64_t f = 0; f < d.f; ++f)
                     add(((n * d.h + h) * d.w + w) * d.c + c, pixel * d.f + f,
                         (tap * d.c + c) * d.f + f);
                 }
               });
    }
  }
  return want;
}

// The numbers of a result, each in the storage that the form says.
struct ResultNumbers {
  std::vector<float> y;
  std::vector<uint16_t> y_bf16;
};

// Computes image by image.
template <typename Product>
ResultNumbers ConvolvedImages(const Product& product, const ConvDims& d, int64_t size, bool in_bf16,
                              const Array& operand, const Array& kernel, const Array* bias) {
  constexpr int64_t kBehind = 64;
  ResultNumbers result{std::vector<float>(size + kBehind, 7),
                       std::vector<uint16_t>(size + kBehind, 7)};
  Scratch scratch(product.ScratchBytes());
  for (int64_t n = 0; n < d.n; ++n) {
    product.Run({.operand = operand.data(),
                 .kernel = kernel.data(),
                 .bias = bias == nullptr ? nullptr : bias->f32.data(),
                 .result = in_bf16 ? static_cast<void*>(result.y_bf16.data()) : result.y.data(),
                 .begin = n,
                 .end = n + 1,
                 .scratch = scratch.data()});
  }
  EXPECT_TRUE(scratch.IsWhole());
  for (int64_t i = size; i < size + kBehind; ++i) {
    EXPECT_EQ(result.y[i], 7) << "written behind the end";
    EXPECT_EQ(result.y_bf16[i], 7) << "written behind the end";
  }
  return result;
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

void ExpectConvolution(const Level& level, const ConvDims& d, const Form& form, bool is_input_grad,
                       const Array& operand, const Array& kernel, std::vector<float> want) {
  SCOPED_TRACE(Told(level, d, form) + (is_input_grad ? " gradient" : ""));
  const Array bias(d.f, false, 3);
  const ConvolutionDef def{.dims = d,
                           .is_input_grad = is_input_grad,
                           .operand = {operand.storage(), form.part()},
                           .kernel = {kernel.storage(), form.part()},
                           .result = operand.storage()};
  if (!Convolution::Fills(def, *level.tiles)) return;
  ExpectSameOfPacked(level, def, operand, kernel, std::ssize(want));
  const Convolution product(def, *level.tiles);
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

// Those whose tiles read x row by row do not convolve.
std::vector<Level> ConvolvingLevels() {
  std::vector<Level> levels = gemm::Levels();
  std::erase_if(levels, [](const Level& level) { return level.tiles->row_unit > 1; });
  return levels;
}

Array OperandOf(const ConvDims& d, const Form& form, bool is_input_grad) {
  const int64_t x = d.n * d.h * d.w * d.c, y = d.n * d.oh * d.ow * d.f;
  return Array(is_input_grad ? y : x, form.in_bf16, 1);
}

Array KernelOf(const ConvDims& d, const Form& form) {
  return Array(d.kh * d.kw * d.c * d.f, form.in_bf16, 2);
}

Array DyOf(const ConvDims& d, const Form& form) {
  return Array(d.n * d.oh * d.ow * d.f, form.in_bf16, 2);
}

TEST(Convolution, EveryElementIsOneChain) {
  const std::vector<Level> levels = ConvolvingLevels();
  for (const ConvDims& d : Cases()) {
    for (const bool is_input_grad : {false, true}) {
      if (is_input_grad && d.sh > 1 && d.dh > 1) continue;
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
        ExpectFilterGrad<ShiftedImages>(level, d, form, x, dy, sums(OrderOfShiftedImages(d)));
        ExpectFilterGrad<PixelProducts>(level, d, form, x, dy, sums(in_order));
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
