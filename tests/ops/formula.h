// Ops beside their formulas: numbers, sums with the error that rounding may make, and a comparison
// with every kernel.
#ifndef TPURUN_TESTS_OPS_FORMULA_H_
#define TPURUN_TESTS_OPS_FORMULA_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/random.h"
#include "runtime/ops/op_list.h"
#include "tests/ops/kernel_case.h"

namespace tpurun {

using Dims = std::vector<int64_t>;

inline constexpr double kRounding = 0x1p-24;

// A number and how far a result may be from it.
struct Exact {
  double value = 0;
  double error = 0;
};

// A sum of products or other terms.
class Sum {
 public:
  void Add(double term) {
    value_ += term;
    size_ += std::fabs(term);
    ++terms_;
  }
  double value() const { return value_; }
  Exact exact() const { return Times(1); }
  // The sum times a factor.
  Exact Times(double factor) const {
    const double error = 2 * static_cast<double>(terms_ + 1) * kRounding * size_;
    return {value_ * factor, std::fabs(factor) * error};
  }

 private:
  double value_ = 0, size_ = 0;
  int64_t terms_ = 0;
};

// So many roundings of a number of this size.
inline Exact Rounded(double value, double roundings, double size) {
  return {value, roundings * kRounding * size + 1e-37};
}
inline Exact Rounded(double value, double roundings) {
  return Rounded(value, roundings, std::fabs(value));
}

inline Literal Numbers(Dims dims, uint32_t stream, double least = -1, double most = 1) {
  Literal literal(F32(std::move(dims)));
  for (int64_t i = 0; i < literal.shape().num_elements(); ++i) {
    const double unit = UniformFloat(PhiloxElement(11, stream, 0, 0, i));
    literal.values<float>()[i] = static_cast<float>(least + (most - least) * unit);
  }
  return literal;
}

inline Literal ClassIds(int64_t rows, int64_t classes) {
  Literal literal(Shape{DType::kS32, {rows}});
  for (int64_t i = 0; i < rows; ++i)
    literal.values<int32_t>()[i] = static_cast<int32_t>(PhiloxElement(12, 0, 0, 0, i) % classes);
  return literal;
}

// Of an f32, bf16 or u8 literal.
inline double At(const Literal& literal, int64_t i) {
  switch (literal.shape().dtype) {
    case DType::kU8:
      return literal.values<uint8_t>()[i];
    case DType::kBF16:
      return FromBFloat16Bits(literal.values<uint16_t>()[i]);
    default:
      return literal.values<float>()[i];
  }
}

inline OpCall CallOf(const std::string& op, const Attrs& attrs,
                     const std::vector<Literal>& operands) {
  OpCall call{.op = FindOpByName(op), .attrs = attrs};
  for (const Literal& operand : operands) call.operands.push_back(operand.shape());
  const auto results = InferShapes(*call.op, call.operands, attrs);
  EXPECT_TRUE(results.ok()) << results.status();
  call.results = results.value_or(std::vector<Shape>{});
  call.needed.assign(call.results.size(), true);
  return call;
}

inline void ExpectNear(const Literal& got, const std::vector<Exact>& want,
                       const std::string& place) {
  ASSERT_EQ(got.shape().num_elements(), std::ssize(want)) << place;
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i].value) && std::isnan(At(got, i))) continue;
    ASSERT_NEAR(At(got, i), want[i].value, want[i].error) << place << " element " << i;
  }
}

// Expects the results of the reference and of every kernel on every machine, in 1 and in 3 parts.
inline void ExpectFormula(const std::string& op, const Attrs& attrs,
                          const std::vector<Literal>& operands,
                          const std::vector<std::vector<Exact>>& want) {
  OpCall call = CallOf(op, attrs, operands);
  for (const int parts : {1, 3}) {
    if (Units(call) < parts) continue;
    call.parts = parts;
    const std::string place = absl::StrCat(op, " ", attrs.ToString(), " ",
                                           call.operands[0].ToString(), " in ", parts, " parts");
    const auto compare = [&](const std::vector<Literal>& got, const std::string& kernel) {
      for (size_t i = 0; i < want.size(); ++i)
        ExpectNear(got[i], want[i], absl::StrCat(place, " ", kernel, " result ", i));
    };
    compare(RunReference(call, operands, SharesOf(call)), "reference");
    for (const OfferedKernel& offered : KernelsOf(call))
      compare(RunPlan(call, offered.plan, operands), offered.plan.name());
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace tpurun

#endif  // TPURUN_TESTS_OPS_FORMULA_H_
