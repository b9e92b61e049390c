// Ops beside their formulas, which stand here as plain loops over double precision numbers and
// share nothing with the ops. The sizes are those at which vectors, blocks and tiles begin and end.
// A sum of K terms in any order is within 2 K 2^-24 of the sum of their sizes.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/formula.h"

namespace tpurun {
namespace {

constexpr int64_t kSizes[] = {1, 7, 16, 33, 100, 1027, 5000};

struct Unary {
  const char* op;
  double (*f)(double x);
  double least, most;
  double roundings;
  double (*size)(double x) = nullptr;  // what the error is relative to; null: the result
};

double Phi(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }
double GeluTanhOf(double x) {
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return std::tanh(scale * (x + 0.044715 * x * x * x));
}
double Size(double x) { return std::fabs(x); }
double One(double) { return 1; }

const Unary kUnary[] = {
    {"neg", [](double x) { return -x; }, -2, 2, 0},
    {"relu", [](double x) { return x > 0 ? x : 0; }, -2, 2, 0},
    {"floor", [](double x) { return std::floor(x); }, -9, 9, 0},
    {"square", [](double x) { return x * x; }, -3, 3, 1},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 9, 1},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.01, 9, 3},
    {"exp", [](double x) { return std::exp(x); }, -80, 80, 4},
    {"log", [](double x) { return std::log(x); }, 0.001, 1000, 4,
     [](double x) { return std::max(1.0, std::fabs(std::log(x))); }},
    {"erf", [](double x) { return std::erf(x); }, -5, 5, 16},
    {"tanh", [](double x) { return std::tanh(x); }, -9, 9, 8},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -60, 60, 8},
    {"softplus", [](double x) { return std::log1p(std::exp(x)); }, -20, 20, 8},
    {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }, -20, 5, 8},
    {"sin", [](double x) { return std::sin(x); }, -9, 9, 4, One},
    {"cos", [](double x) { return std::cos(x); }, -9, 9, 4, One},
    {"gelu", [](double x) { return x * Phi(x); }, -6, 6, 16, Size},
    {"gelu_tanh", [](double x) { return 0.5 * x * (1 + GeluTanhOf(x)); }, -6, 6, 16, Size},
};

TEST(Formulas, OfOneElement) {
  for (const Unary& unary : kUnary) {
    for (const int64_t n : kSizes) {
      const Literal x = Numbers({n}, 1, unary.least, unary.most);
      std::vector<Exact> want;
      for (int64_t i = 0; i < n; ++i) {
        const double value = unary.f(At(x, i));
        const double size = unary.size == nullptr ? std::fabs(value) : unary.size(At(x, i));
        want.push_back(Rounded(value, unary.roundings, size));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectFormula(unary.op, {}, {x}, {want}));
    }
  }
}

struct Binary {
  const char* op;
  double (*f)(double x, double y);
  double roundings;
  bool broadcasts = true;              // a scalar or a row
  double (*size)(double x) = nullptr;  // of operand 0
};

const Binary kBinary[] = {
    {"add", [](double x, double y) { return x + y; }, 1},
    {"sub", [](double x, double y) { return x - y; }, 1},
    {"mul", [](double x, double y) { return x * y; }, 1},
    {"div", [](double x, double y) { return x / y; }, 1},
    {"maximum", [](double x, double y) { return std::max(x, y); }, 0},
    {"minimum", [](double x, double y) { return std::min(x, y); }, 0},
    {"relu_grad", [](double dy, double y) { return y > 0 ? dy : 0; }, 0, false},
    {"gelu_grad",
     [](double dy, double x) {
       const double bell = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
       return dy * (Phi(x) + x * bell);
     },
     24, false, Size},
    {"gelu_tanh_grad",
     [](double dy, double x) {
       const double t = GeluTanhOf(x), scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
       const double slope = scale * (1 + 3 * 0.044715 * x * x);
       return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope);
     },
     64, false, Size},
};

TEST(Formulas, OfTwoElements) {
  for (const Binary& binary : kBinary) {
    for (const Dims& dims : std::vector<Dims>{{1, 1}, {3, 5}, {7, 16}, {33, 31}, {3, 1500}}) {
      const int64_t n = dims[0] * dims[1], columns = dims[1];
      const Literal x = Numbers(dims, 2, -2, 2);
      const auto expect = [&](Literal y, const std::function<int64_t(int64_t)>& index) {
        std::vector<Exact> want;
        for (int64_t i = 0; i < n; ++i) {
          const double value = binary.f(At(x, i), At(y, index(i)));
          const double size = binary.size == nullptr ? std::fabs(value) : binary.size(At(x, i));
          want.push_back(Rounded(value, binary.roundings, size));
        }
        ExpectFormula(binary.op, {}, {x, std::move(y)}, {want});
      };
      ASSERT_NO_FATAL_FAILURE(expect(Numbers(dims, 3, -2, 2), [](int64_t i) { return i; }));
      if (!binary.broadcasts) continue;
      ASSERT_NO_FATAL_FAILURE(expect(Numbers({}, 3, 1, 2), [](int64_t) { return 0; }));
      ASSERT_NO_FATAL_FAILURE(
          expect(Numbers({columns}, 3, 1, 2), [&](int64_t i) { return i % columns; }));
    }
  }
}

TEST(Formulas, SumsOfAllElements) {
  for (const int64_t n : {1, 15, 16, 17, 255, 256, 4095, 4096, 4097, 9001}) {
    const Literal x = Numbers({n}, 4);
    Sum sum;
    for (int64_t i = 0; i < n; ++i) sum.Add(At(x, i));
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("sum_of_elements", {}, {x}, {{sum.exact()}}));
  }
}

// (rows, columns): few and many of each.
const std::vector<Dims> kMatrices = {{1, 1},   {3, 5},    {16, 16},  {17, 33},  {64, 48},
                                     {130, 7}, {70, 100}, {1000, 3}, {4100, 2}, {300, 257}};

TEST(Formulas, SumsOfRowsAndTheirMoments) {
  for (const Dims& dims : kMatrices) {
    const int64_t rows = dims[0], columns = dims[1];
    const Literal x = Numbers(dims, 5), dy = Numbers(dims, 6), center = Numbers({columns}, 7);
    const double n = static_cast<double>(rows);
    std::vector<Exact> sums, means, variances, of_dy, of_products;
    for (int64_t c = 0; c < columns; ++c) {
      Sum sum, squares, sum_of_dy, products;
      for (int64_t r = 0; r < rows; ++r) sum.Add(At(x, r * columns + c));
      for (int64_t r = 0; r < rows; ++r) {
        const double distance = At(x, r * columns + c) - sum.value() / n;
        squares.Add(distance * distance);
        sum_of_dy.Add(At(dy, r * columns + c));
        products.Add(At(dy, r * columns + c) * (At(x, r * columns + c) - At(center, c)));
      }
      sums.push_back(sum.exact());
      means.push_back(sum.Times(1 / n));
      // The rounded mean is off by its error, whose square counts. A mean of 64 rows has a smaller
      // error than that of all.
      variances.push_back(squares.Times(1 / n));
      variances.back().error += means.back().error * means.back().error + 4 * kRounding;
      of_dy.push_back(sum_of_dy.exact());
      of_products.push_back(products.exact());
    }
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("sum_of_rows", {}, {x}, {sums}));
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("moments", {}, {x}, {means, variances}));
    ASSERT_NO_FATAL_FAILURE(
        ExpectFormula("batch_norm_grad", {}, {dy, x, center}, {of_dy, of_products}));
  }
}

TEST(Formulas, BatchNormOfColumns) {
  constexpr double kEpsilon = 0.001;
  for (const Dims& dims : kMatrices) {
    const int64_t columns = dims[1];
    const Literal x = Numbers(dims, 8), mean = Numbers({columns}, 9);
    const Literal variance = Numbers({columns}, 10, 0.1, 2), gamma = Numbers({columns}, 11);
    const Literal beta = Numbers({columns}, 12);
    std::vector<Exact> want;
    for (int64_t i = 0; i < dims[0] * columns; ++i) {
      const int64_t c = i % columns;
      const double factor = At(gamma, c) / std::sqrt(At(variance, c) + kEpsilon);
      const double size = (std::fabs(At(x, i)) + std::fabs(At(mean, c))) * std::fabs(factor);
      want.push_back(Rounded((At(x, i) - At(mean, c)) * factor + At(beta, c), 8,
                             size + std::fabs(At(beta, c))));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("batch_norm", {{"epsilon", kEpsilon}},
                                          {x, mean, variance, gamma, beta}, {want}));
  }
}

TEST(Formulas, ReductionsOfEveryRunOfAxes) {
  const Dims dims = {5, 7, 33};
  const Literal x = Numbers(dims, 13);
  for (const Dims& axes : std::vector<Dims>{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}}) {
    const auto kept = [&](int64_t axis) {
      return std::find(axes.begin(), axes.end(), axis) == axes.end();
    };
    std::vector<Sum> sums(1);
    int64_t count = 1;
    for (int64_t axis = 0; axis < 3; ++axis) count *= kept(axis) ? dims[axis] : 1;
    sums.resize(count);
    std::vector<double> most(count, -9);
    for (int64_t i = 0; i < 5 * 7 * 33; ++i) {
      const int64_t at[] = {i / (7 * 33), i / 33 % 7, i % 33};
      int64_t result = 0;
      for (int64_t axis = 0; axis < 3; ++axis)
        if (kept(axis)) result = result * dims[axis] + at[axis];
      sums[result].Add(At(x, i));
      most[result] = std::max(most[result], At(x, i));
    }
    std::vector<Exact> want_sums, want_most;
    for (int64_t i = 0; i < count; ++i) {
      want_sums.push_back(sums[i].exact());
      want_most.push_back({most[i], 0});
    }
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("reduce_sum", {{"axes", axes}}, {x}, {want_sums}));
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("reduce_max", {{"axes", axes}}, {x}, {want_most}));
  }
}

// A row of logits (rows, n) in double precision.
struct Row {
  Row(const Literal& x, int64_t row, int64_t n) {
    for (int64_t c = 0; c < n; ++c) values.push_back(At(x, row * n + c));
    max = *std::max_element(values.begin(), values.end());
    for (const double value : values) sum_of_powers += std::exp(value - max);
  }
  // Of softmax.
  double Weight(int64_t c) const { return std::exp(values[c] - max) / sum_of_powers; }

  std::vector<double> values;
  double max = 0, sum_of_powers = 0;
};

const std::vector<Dims> kLogits = {{1, 1},   {3, 2},  {16, 3},  {70, 10},
                                   {130, 3}, {5, 65}, {3, 257}, {2, 5000}};

TEST(Formulas, SoftmaxAndItsGradient) {
  for (const Dims& dims : kLogits) {
    const int64_t classes = dims[1];
    const Literal x = Numbers(dims, 14, -5, 5), dy = Numbers(dims, 15);
    const double roundings = 16 + 2 * static_cast<double>(classes);
    Literal y(F32(dims));
    std::vector<Exact> weights, gradients;
    for (int64_t row = 0; row < dims[0]; ++row) {
      const Row logits(x, row, classes);
      for (int64_t c = 0; c < classes; ++c) {
        const double weight = logits.Weight(c);
        weights.push_back(Rounded(weight, roundings));
        y.values<float>()[row * classes + c] = static_cast<float>(weight);
      }
      Sum along;
      for (int64_t c = 0; c < classes; ++c)
        along.Add(At(dy, row * classes + c) * At(y, row * classes + c));
      for (int64_t c = 0; c < classes; ++c) {
        const int64_t i = row * classes + c;
        gradients.push_back({At(y, i) * (At(dy, i) - along.value()),
                             At(y, i) * (along.exact().error + 4 * kRounding)});
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("softmax", {}, {x}, {weights}));
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("softmax_grad", {}, {dy, y}, {gradients}));
  }
}

TEST(Formulas, CrossEntropies) {
  for (const Dims& dims : kLogits) {
    const int64_t classes = dims[1];
    const Literal x = Numbers(dims, 16, -5, 5), y = Numbers(dims, 17, 0, 1);
    const Literal labels = ClassIds(dims[0], classes);
    const double n = static_cast<double>(classes);
    std::vector<Exact> losses, gradients, losses_of_y, gradients_of_y;
    for (int64_t row = 0; row < dims[0]; ++row) {
      const Row logits(x, row, classes);
      const double log_sum = std::log(logits.sum_of_powers) + logits.max;
      const int64_t label = labels.values<int32_t>()[row];
      losses.push_back(Rounded(log_sum - logits.values[label], 16 + 2 * n, 10));
      double of_y = 0, size = 0;
      for (int64_t c = 0; c < classes; ++c) {
        const double weight = logits.Weight(c);
        const double wanted = At(y, row * classes + c);
        gradients.push_back(Rounded(weight - (c == label ? 1 : 0), 16 + 2 * n, 1));
        gradients_of_y.push_back(Rounded(weight - wanted, 16 + 2 * n, 1));
        of_y += wanted * (log_sum - logits.values[c]);
        size += wanted * 10;
      }
      losses_of_y.push_back(Rounded(of_y, 16 + 4 * n, size));
    }
    ASSERT_NO_FATAL_FAILURE(
        ExpectFormula("sparse_softmax_cross_entropy", {}, {x, labels}, {losses, gradients}));
    ASSERT_NO_FATAL_FAILURE(
        ExpectFormula("softmax_cross_entropy", {}, {x, y}, {losses_of_y, gradients_of_y}));
  }
}

TEST(Formulas, NormalizedRowsAndTheirGradient) {
  constexpr double kEpsilon = 0.01;
  for (const Dims& dims : std::vector<Dims>{{3, 2}, {5, 16}, {7, 33}, {2, 130}, {3, 4100}}) {
    const int64_t n = dims[1];
    const double count = static_cast<double>(n), error = 16 * std::sqrt(count) * kRounding;
    const Literal x = Numbers(dims, 18), dy = Numbers(dims, 19);
    Literal y(F32(dims)), s(F32({dims[0]}));
    std::vector<Exact> normalized, scales, gradients;
    for (int64_t row = 0; row < dims[0]; ++row) {
      double mean = 0, variance = 0, mean_of_dy = 0, along = 0;
      for (int64_t c = 0; c < n; ++c) mean += At(x, row * n + c) / count;
      for (int64_t c = 0; c < n; ++c)
        variance += (At(x, row * n + c) - mean) * (At(x, row * n + c) - mean) / count;
      const double scale = 1 / std::sqrt(variance + kEpsilon);
      scales.push_back({scale, error * scale});
      s.values<float>()[row] = static_cast<float>(scale);
      for (int64_t c = 0; c < n; ++c) {
        const double value = (At(x, row * n + c) - mean) * scale;
        normalized.push_back({value, error * scale});
        y.values<float>()[row * n + c] = static_cast<float>(value);
      }
      for (int64_t c = 0; c < n; ++c) {
        mean_of_dy += At(dy, row * n + c) / count;
        along += At(dy, row * n + c) * At(y, row * n + c) / count;
      }
      for (int64_t c = 0; c < n; ++c) {
        const double distance = At(dy, row * n + c) - mean_of_dy - At(y, row * n + c) * along;
        gradients.push_back({At(s, row) * distance, 4 * error * At(s, row)});
      }
    }
    const Attrs attrs = {{"epsilon", kEpsilon}};
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("normalize_rows", attrs, {x}, {normalized, scales}));
    ASSERT_NO_FATAL_FAILURE(ExpectFormula("normalize_rows_grad", {}, {dy, y, s}, {gradients}));
  }
}

TEST(Formulas, RowsOfATableAndTheirSums) {
  for (const Dims& dims : std::vector<Dims>{{1, 1}, {7, 3}, {100, 16}, {33, 130}}) {
    const int64_t rows = dims[0], columns = dims[1];
    for (const int64_t count : {1, 5, 300}) {
      const Literal table = Numbers(dims, 20), x = Numbers({count, columns}, 21);
      const Literal ids = ClassIds(count, rows);
      std::vector<Exact> taken;
      std::vector<Sum> sums(rows * columns);
      for (int64_t i = 0; i < count * columns; ++i) {
        const int64_t at = ids.values<int32_t>()[i / columns] * columns + i % columns;
        taken.push_back({At(table, at), 0});
        sums[at].Add(At(x, i));
      }
      std::vector<Exact> want;
      for (const Sum& sum : sums) want.push_back(sum.exact());
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("gather", {}, {table, ids}, {taken}));
      ASSERT_NO_FATAL_FAILURE(ExpectFormula("scatter_add", {{"rows", rows}}, {ids, x}, {want}));
    }
  }
}

}  // namespace
}  // namespace tpurun
