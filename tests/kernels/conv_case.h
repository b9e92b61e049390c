// Convolutions for the tests of runtime/kernels/conv: their cases, arrays, and the numbers that are
// expected, one chain of std::fma for each element.
#ifndef TPURUN_TESTS_KERNELS_CONV_CASE_H_
#define TPURUN_TESTS_KERNELS_CONV_CASE_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/filter_grad.h"
#include "tests/kernels/levels.h"

namespace tpurun::conv {

using gemm::Level;
using gemm::Storage;

inline ConvDims Dims(int64_t n, int64_t h, int64_t w, int64_t c, int64_t kh, int64_t kw, int64_t f,
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
inline ConvDims Uneven(ConvDims d) {
  d.top = 1;
  d.left = 3;
  d.bottom = d.right = 0;
  if (d.sh > 1) d.sw = d.sh + 1;
  d.oh = (d.h + d.top - d.kh) / d.sh + 1;
  d.ow = (d.w + d.left - d.kw) / d.sw + 1;
  return d;
}

// Pixels between those that a row of the kernel reads.
inline ConvDims Dilated(ConvDims d, int64_t dilation) {
  d.dw = dilation;
  d.ow = (d.w + d.left + d.right - (d.kw - 1) * dilation - 1) / d.sw + 1;
  return d;
}

// With a group for each channel.
inline ConvDims Depthwise(ConvDims d) {
  d.f = d.groups = d.c;
  return d;
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

inline constexpr Form kForms[] = {{false, false}, {false, true}, {true, false}, {true, true}};

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

inline std::string Told(const Level& level, const ConvDims& d, const Form& form) {
  std::string text = level.name;
  for (const int64_t size : {d.n, d.h, d.w, d.c, d.kh, d.kw, d.f, d.sh, d.top, d.dh, d.dw})
    text += " " + std::to_string(size);
  return text + (form.in_bf16 ? " bf16" : "") + (form.rounds ? " rounds" : "");
}

// f(h, w) for the pixel of x that pixel (oh, ow) of y reads at (kh, kw), if there is one.
template <typename F>
void IfInside(const ConvDims& d, int64_t oh, int64_t ow, int64_t kh, int64_t kw, F f) {
  const int64_t h = oh * d.sh + kh * d.dh - d.top, w = ow * d.sw + kw * d.dw - d.left;
  if (h >= 0 && h < d.h && w >= 0 && w < d.w) f(h, w);
}

// The order in which a sum takes the pixels of dy: rows of so many pixels and images of so many.
// Those behind the pixels of a row or of an image are zeros.
struct PixelOrder {
  int64_t row, image;
};

inline std::vector<float> ExpectedFilterGrad(const ConvDims& d, const Form& form,
                                             const PixelOrder& order, gemm::Order sums,
                                             const Array& x, const Array& dy) {
  std::vector<float> want(d.kh * d.kw * d.group_c() * d.f);
  for (int64_t i = 0; i < std::ssize(want); ++i) {
    const int64_t f = i % d.f, c = f / d.group_f() * d.group_c() + i / d.f % d.group_c();
    const int64_t tap = i / d.f / d.group_c(), kh = tap / d.kw, kw = tap % d.kw;
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
  std::vector<float> dk(d.kh * d.kw * d.group_c() * d.f, 7);
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

// What a convolution or its gradient of x must be, but for the bias.
inline std::vector<float> Expected(const ConvDims& d, const Form& form, bool is_input_grad,
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
                 for (int64_t f = 0; f < d.f; ++f) {
                   const int64_t first = f / d.group_f() * d.group_c();
                   for (int64_t c = 0; c < d.group_c(); ++c)
                     add(((n * d.h + h) * d.w + w) * d.c + first + c, pixel * d.f + f,
                         (tap * d.group_c() + c) * d.f + f);
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

inline Array OperandOf(const ConvDims& d, const Form& form, bool is_input_grad) {
  const int64_t x = d.n * d.h * d.w * d.c, y = d.n * d.oh * d.ow * d.f;
  return Array(is_input_grad ? y : x, form.in_bf16, 1);
}

inline Array KernelOf(const ConvDims& d, const Form& form) {
  return Array(d.kh * d.kw * d.group_c() * d.f, form.in_bf16, 2);
}

inline Array DyOf(const ConvDims& d, const Form& form) {
  return Array(d.n * d.oh * d.ow * d.f, form.in_bf16, 2);
}

}  // namespace tpurun::conv

#endif  // TPURUN_TESTS_KERNELS_CONV_CASE_H_
