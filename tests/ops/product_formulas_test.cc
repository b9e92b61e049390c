// Pools, products, convolutions and attention beside their formulas, as formulas_test.cc has the
// other ops.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/formula.h"

namespace tpurun {
namespace {

// Windows of rows and columns of an image (N, H, W, C).
struct Windows {
  int64_t height, width, down, right, top, bottom, left, behind;

  int64_t Rows(int64_t h) const { return (h + top + bottom - height) / down + 1; }
  int64_t Columns(int64_t w) const { return (w + left + behind - width) / right + 1; }
  // Calls f(row of x, column of x, row in the window, column in the window) for the elements of
  // window (oh, ow) that lie in x.
  template <typename F>
  void ForEach(int64_t oh, int64_t ow, int64_t h, int64_t w, const F& f) const {
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        const int64_t row = oh * down - top + i, column = ow * right - left + j;
        if (row >= 0 && row < h && column >= 0 && column < w) f(row, column, i, j);
      }
    }
  }
  Attrs Pads() const {
    return {{"strides", Dims{down, right}}, {"pads", Dims{top, bottom, left, behind}}};
  }
};

const Windows kWindows[] = {{2, 2, 2, 2, 0, 0, 0, 0},
                            {3, 2, 2, 1, 1, 1, 0, 1},
                            {3, 3, 1, 1, 1, 1, 1, 1},
                            {1, 1, 1, 1, 0, 0, 0, 0},
                            {2, 3, 3, 2, 0, 1, 2, 0}};

TEST(Formulas, PoolsOfWindows) {
  constexpr int64_t kImages = 3, kH = 7, kW = 9;
  for (const Windows& of : kWindows) {
    for (const int64_t channels : {1, 5, 32, 33, 70}) {
      const int64_t oh = of.Rows(kH), ow = of.Columns(kW);
      const Literal x = Numbers({kImages, kH, kW, channels}, 20);
      // Of the largest: with equal numbers, and one or more NaN in a window. bf16 numbers.
      Literal steps = x, steps_bf16(Shape{DType::kBF16, x.shape().dims});
      for (int64_t i = 0; i < x.shape().num_elements(); ++i) {
        float& step = steps.values<float>()[i];
        step = i % 5 == 0 ? std::numeric_limits<float>::quiet_NaN() : std::round(4 * step) / 4;
        steps_bf16.values<uint16_t>()[i] = BFloat16Bits(step);
      }
      const Literal dy = Numbers({kImages, oh, ow, channels}, 21);
      std::vector<Exact> most, numbers, means;
      std::vector<Sum> of_most(x.shape().num_elements()), of_means(of_most.size());
      Literal index(Shape{DType::kU8, dy.shape().dims});
      for (int64_t i = 0; i < dy.shape().num_elements(); ++i) {
        const int64_t c = i % channels, n = i / channels / ow / oh;
        const auto at = [&](int64_t h, int64_t w) {
          return ((n * kH + h) * kW + w) * channels + c;
        };
        int64_t largest = -1, elements = 0;
        Sum sum;
        of.ForEach(i / channels / ow % oh, i / channels % ow, kH, kW,
                   [&](int64_t h, int64_t w, int64_t row, int64_t column) {
                     sum.Add(At(x, at(h, w)));
                     ++elements;
                     const double tap = At(steps, at(h, w));
                     if (largest >= 0 && !(tap > At(steps, largest)) && !std::isnan(tap)) return;
                     largest = at(h, w);
                     index.values<uint8_t>()[i] = static_cast<uint8_t>(row * of.width + column);
                   });
        most.push_back({At(steps, largest), 0});
        numbers.push_back({At(index, i), 0});
        means.push_back(sum.Times(1 / static_cast<double>(elements)));
        of_most[largest].Add(At(dy, i));
        of.ForEach(i / channels / ow % oh, i / channels % ow, kH, kW,
                   [&](int64_t h, int64_t w, int64_t, int64_t) {
                     of_means[at(h, w)].Add(At(dy, i) / static_cast<double>(elements));
                   });
      }
      std::vector<Exact> gradients_of_most, gradients_of_means;
      for (const Sum& sum : of_most) gradients_of_most.push_back(sum.exact());
      for (const Sum& sum : of_means) gradients_of_means.push_back(sum.exact());
      Attrs attrs = of.Pads();
      attrs.Set("window", Dims{of.height, of.width});
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("max_pool", attrs, {steps}, {most, numbers}));
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("max_pool", attrs, {steps_bf16}, {most, numbers}));
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("avg_pool", attrs, {x}, {means}));
      attrs.Set("x_dims", x.shape().dims);
      ASSERT_NO_FATAL_FAILURE(
          ExpectFormula("max_pool_grad", attrs, {dy, index}, {gradients_of_most}));
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("avg_pool_grad", attrs, {dy}, {gradients_of_means}));
    }
  }
}

TEST(Formulas, ProductsOfMatrices) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {3, 5, 7}, {16, 10, 3}, {33, 65, 49}, {130, 17, 100}, {13, 700, 31}}) {
    for (const bool tx : {false, true}) {
      for (const bool ty : {false, true}) {
        const Literal x = Numbers(tx ? Dims{k, m} : Dims{m, k}, 22);
        const Literal y = Numbers(ty ? Dims{n, k} : Dims{k, n}, 23), bias = Numbers({n}, 24);
        std::vector<Exact> want;
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            Sum sum;
            for (int64_t l = 0; l < k; ++l)
              sum.Add(At(x, tx ? l * m + i : i * k + l) * At(y, ty ? j * k + l : l * n + j));
            sum.Add(At(bias, j));
            want.push_back(sum.exact());
          }
        }
        const Attrs attrs = {{"precision", int64_t{3}}, {"transpose_x", tx}, {"transpose_y", ty}};
        ASSERT_NO_FATAL_FAILURE(ExpectFormula("matmul", attrs, {x, y, bias}, {want}));
      }
    }
  }
}

TEST(Formulas, ConvolutionsAndTheirGradients) {
  constexpr int64_t kImages = 2, kH = 7, kW = 9;
  for (const Windows& of : kWindows) {
    for (const auto& channels :
         std::vector<std::pair<int64_t, int64_t>>{{1, 3}, {5, 16}, {16, 33}}) {
      const int64_t in = channels.first, out = channels.second;
      const int64_t oh = of.Rows(kH), ow = of.Columns(kW);
      const Literal x = Numbers({kImages, kH, kW, in}, 25);
      const Literal kernel = Numbers({of.height, of.width, in, out}, 26);
      const Literal dy = Numbers({kImages, oh, ow, out}, 27);
      std::vector<Sum> y(dy.shape().num_elements()), dx(x.shape().num_elements());
      std::vector<Sum> dk(kernel.shape().num_elements());
      for (int64_t pixel = 0; pixel < kImages * oh * ow; ++pixel) {
        of.ForEach(pixel / ow % oh, pixel % ow, kH, kW,
                   [&](int64_t h, int64_t w, int64_t row, int64_t column) {
                     for (int64_t i = 0; i < in; ++i) {
                       for (int64_t o = 0; o < out; ++o) {
                         const int64_t at_x = ((pixel / ow / oh * kH + h) * kW + w) * in + i;
                         const int64_t at_k = ((row * of.width + column) * in + i) * out + o;
                         const int64_t at_y = pixel * out + o;
                         y[at_y].Add(At(x, at_x) * At(kernel, at_k));
                         dx[at_x].Add(At(dy, at_y) * At(kernel, at_k));
                         dk[at_k].Add(At(dy, at_y) * At(x, at_x));
                       }
                     }
                   });
      }
      const auto exact = [](const std::vector<Sum>& sums) {
        std::vector<Exact> numbers;
        for (const Sum& sum : sums) numbers.push_back(sum.exact());
        return numbers;
      };
      Attrs attrs = of.Pads();
      attrs.Set("precision", int64_t{3});
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("conv2d", attrs, {x, kernel}, {exact(y)}));
      Attrs of_x = attrs, of_kernel = attrs;
      of_x.Set("x_dims", x.shape().dims);
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("conv2d_input_grad", of_x, {dy, kernel}, {exact(dx)}));
      of_kernel.Set("kernel_dims", kernel.shape().dims);
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("conv2d_filter_grad", of_kernel, {x, dy}, {exact(dk)}));
    }
  }
}

TEST(Formulas, AttentionOfQueriesAndKeys) {
  constexpr double kScale = 0.25;
  for (const auto& [queries, keys, width] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {3, 5, 4}, {33, 17, 16}, {130, 260, 9}}) {
    for (const bool causal : {false, true}) {
      const Literal q = Numbers({1, queries, 1, width}, 28), k = Numbers({1, keys, 1, width}, 29);
      const Literal v = Numbers({1, keys, 1, width}, 30);
      const Literal dy = Numbers({1, queries, 1, width}, 31);
      const double error = (64 + 4 * static_cast<double>(keys)) * kRounding;
      std::vector<Exact> y;
      std::vector<Sum> dq(queries * width), dk(keys * width), dv(keys * width);
      for (int64_t i = 0; i < queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double score = 0;
          for (int64_t e = 0; e < width; ++e)
            score += kScale * At(q, i * width + e) * At(k, j * width + e);
          weights.push_back(causal && j > i ? 0 : std::exp(score));
          sum += weights.back();
        }
        for (double& weight : weights) weight /= sum;
        double along = 0;  // of dy y, the weighted mean of dy v
        for (int64_t e = 0; e < width; ++e) {
          double value = 0;
          for (int64_t j = 0; j < keys; ++j) value += weights[j] * At(v, j * width + e);
          y.push_back({value, error});
          along += value * At(dy, i * width + e);
        }
        for (int64_t j = 0; j < keys; ++j) {
          double of_weight = 0;
          for (int64_t e = 0; e < width; ++e) {
            of_weight += At(dy, i * width + e) * At(v, j * width + e);
            dv[j * width + e].Add(weights[j] * At(dy, i * width + e));
          }
          const double of_score = kScale * weights[j] * (of_weight - along);
          for (int64_t e = 0; e < width; ++e) {
            dq[i * width + e].Add(of_score * At(k, j * width + e));
            dk[j * width + e].Add(of_score * At(q, i * width + e));
          }
        }
      }
      Attrs attrs = {{"precision", int64_t{3}}, {"scale", kScale}};
      if (causal) attrs.Set("causal", true);
      // A weight, and the slope of a score, are off by `error` of their size, which is below 1.
      const double of_term = error * static_cast<double>(width) * kScale;
      const auto exact = [of_term](const std::vector<Sum>& sums, int64_t terms) {
        std::vector<Exact> numbers;
        for (const Sum& sum : sums) {
          numbers.push_back(sum.exact());
          numbers.back().error += of_term * static_cast<double>(terms);
        }
        return numbers;
      };
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("attention", attrs, {q, k, v}, {y}));
      const OpCall call = CallOf("attention", attrs, {q, k, v});
      const std::vector<Literal> results = RunReference(call, {q, k, v}, SharesOf(call));
      ASSERT_NO_FATAL_FAILURE(
          ExpectFormula("attention_grad", attrs, {dy, q, k, v, results[0], results[1]},
                        {exact(dq, 1), exact(dk, queries), exact(dv, queries)}));
    }
  }
}

}  // namespace
}  // namespace tpurun
