// The functions of vector_math.h beside those of the C library in double precision, on every
// instruction set that this processor has.
#include "runtime/ops/vector_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/clones.h"

namespace tpurun {
namespace {

using Limits = std::numeric_limits<float>;

struct Function {
  const char* name;
  void (*run)(InstructionSet set, const std::vector<float>& x, std::vector<float>* y);
  double (*exact)(double x);
  double most_ulps;   // that vector_math.h promises
  float least, most;  // of the arguments that it is for
};

// y[i] = f(x[i]), vectorized for the instruction set.
template <typename F>
void RunOn(InstructionSet set, const std::vector<float>& x, std::vector<float>* y, F f) {
  const float* const from = x.data();
  float* const to = y->data();
  const int64_t n = static_cast<int64_t>(x.size());
  RunWith(
      set, [=]() __attribute__((always_inline)) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
      });
}

const Function kFunctions[] = {
    {"exp",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return ExpOfNegative(v); });
     },
     [](double x) { return std::exp(x); }, 1.1, kLeastExponent, 0},
    {"exp of any number",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return ExpOf(v); });
     },
     [](double x) { return std::exp(x); }, 1.1, -Limits::infinity(), 88.7228317f},
    {"expm1",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return Expm1OfNegative(v); });
     },
     [](double x) { return std::expm1(x); }, 1.5, -Limits::infinity(), 0},
    {"log",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return LogOf(v); });
     },
     [](double x) { return std::log(x); }, 1.1, 0, Limits::max()},
    {"softplus",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return SoftplusOf(v); });
     },
     [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }, 2,
     kLeastExponent, Limits::max()},
    {"elu",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return EluOf(v); });
     },
     [](double x) { return x < 0 ? std::expm1(x) : x; }, 1.5, -Limits::infinity(), Limits::max()},
    {"erf",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return ErfOf(v); });
     },
     [](double x) { return std::erf(x); }, 7, -Limits::infinity(), Limits::infinity()},
    {"sigmoid",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return SigmoidOf(v); });
     },
     [](double x) { return 1 / (1 + std::exp(-x)); }, 3, kLeastExponent, Limits::infinity()},
    {"tanh",
     [](InstructionSet set, const std::vector<float>& x, std::vector<float>* y) {
       RunOn(
           set, x, y, [](float v) __attribute__((always_inline)) { return TanhOf(v); });
     },
     [](double x) { return std::tanh(x); }, 2, -Limits::infinity(), Limits::infinity()},
};

std::vector<InstructionSet> SetsOfThisProcessor() {
  std::vector<InstructionSet> sets = {InstructionSet::kPlain};
  if (kBestInstructionSet != InstructionSet::kPlain) sets.push_back(InstructionSet::kAvx2);
  if (kBestInstructionSet == InstructionSet::kAvx512) sets.push_back(InstructionSet::kAvx512);
  return sets;
}

// Every 4,999th normal number and the special ones.
std::vector<float> Arguments() {
  std::vector<float> x = {0.0f,
                          -0.0f,
                          1.0f,
                          -1.0f,
                          0.625f,
                          -0.625f,
                          -87.0f,
                          -88.0f,
                          -200.0f,
                          200.0f,
                          Limits::infinity(),
                          -Limits::infinity(),
                          Limits::max(),
                          Limits::lowest()};
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 4999) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnormal(value)) x.push_back(value);
  }
  return x;
}

TEST(VectorMath, IsWithinItsBounds) {
  for (const Function& function : kFunctions) {
    std::vector<float> x;
    for (const float value : Arguments()) {
      if (value >= function.least && value <= function.most) x.push_back(value);
    }
    std::vector<float> y(x.size());
    function.run(kBestInstructionSet, x, &y);
    double most = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = function.exact(x[i]);
      if (std::fabs(exact) < Limits::min()) continue;
      const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
      const double ulps = std::fabs(y[i] - exact) / ulp;
      if (ulps > most) at = x[i];
      most = std::max(most, ulps);
      ASSERT_FALSE(std::isnan(y[i])) << function.name << " of " << x[i];
    }
    EXPECT_LE(most, function.most_ulps) << function.name << " of " << at;
    EXPECT_GT(most, 0.5) << function.name;
  }
}

TEST(VectorMath, HasTheSameBitsOnEveryInstructionSet) {
  const std::vector<float> x = Arguments();
  for (const Function& function : kFunctions) {
    std::vector<float> want(x.size()), got(x.size());
    function.run(kBestInstructionSet, x, &want);
    for (const InstructionSet set : SetsOfThisProcessor()) {
      function.run(set, x, &got);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i]))
            << function.name << " of " << x[i] << " on " << static_cast<int>(set);
      }
    }
  }
}

TEST(VectorMath, KeepsZerosInfinitiesAndNaN) {
  const float inf = Limits::infinity();
  EXPECT_EQ(ExpOfNegative(0), 1.0f);
  EXPECT_EQ(SigmoidOf(-inf), 0.0f);
  EXPECT_EQ(SigmoidOf(-200), 0.0f);
  EXPECT_EQ(SigmoidOf(-87), std::exp(-87.0f));
  EXPECT_EQ(SigmoidOf(200), 1.0f);
  EXPECT_EQ(SigmoidOf(inf), 1.0f);
  EXPECT_EQ(SigmoidOf(-0.0f), 0.5f);
  EXPECT_TRUE(std::signbit(TanhOf(-0.0f)));
  EXPECT_FALSE(std::signbit(TanhOf(0.0f)));
  EXPECT_EQ(TanhOf(inf), 1.0f);
  EXPECT_EQ(TanhOf(-inf), -1.0f);
  EXPECT_EQ(ErfOf(inf), 1.0f);
  EXPECT_EQ(ErfOf(-inf), -1.0f);
  EXPECT_EQ(ExpOf(-inf), 0.0f);
  EXPECT_EQ(ExpOf(-87.4f), 0.0f);
  EXPECT_EQ(ExpOf(88.73f), inf);
  EXPECT_EQ(ExpOf(inf), inf);
  EXPECT_EQ(LogOf(0.0f), -inf);
  EXPECT_EQ(LogOf(-0.0f), -inf);
  EXPECT_EQ(LogOf(1.0f), 0.0f);
  EXPECT_EQ(LogOf(inf), inf);
  EXPECT_EQ(LogOf(std::bit_cast<float>(1u)), std::log(std::bit_cast<float>(1u)));
  EXPECT_EQ(Expm1OfNegative(-inf), -1.0f);
  EXPECT_TRUE(std::signbit(EluOf(-0.0f)));
  EXPECT_EQ(EluOf(inf), inf);
  EXPECT_EQ(SoftplusOf(-200), 0.0f);
  EXPECT_EQ(SoftplusOf(200), 200.0f);
  EXPECT_EQ(SoftplusOf(-inf), 0.0f);
  EXPECT_EQ(SoftplusOf(inf), inf);
  for (const float result :
       {ExpOfNegative(NAN), SigmoidOf(NAN), TanhOf(NAN), ErfOf(NAN), ExpOf(NAN), LogOf(NAN),
        LogOf(-1.0f), LogOf(-inf), Expm1OfNegative(NAN), SoftplusOf(NAN), EluOf(NAN)})
    EXPECT_TRUE(std::isnan(result));
}

}  // namespace
}  // namespace tpurun
