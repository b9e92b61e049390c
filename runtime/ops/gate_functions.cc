#include "runtime/ops/gate_functions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

constexpr std::array<std::pair<std::string_view, GateFunction>, 6> kGateFunctions = {{
    {"linear", GateFunction::kLinear},
    {"relu", GateFunction::kRelu},
    {"tanh", GateFunction::kTanh},
    {"sigmoid", GateFunction::kSigmoid},
    {"softplus", GateFunction::kSoftplus},
    {"elu", GateFunction::kElu},
}};

TPURUN_CLONES void ReluOfArray(const float* x, int64_t n, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0.0f;
}

TPURUN_CLONES void TanhOfArray(const float* x, int64_t n, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = TanhOf(x[i]);
}

TPURUN_CLONES void SigmoidOfArray(const float* x, int64_t n, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = SigmoidOf(x[i]);
}

TPURUN_CLONES void SoftplusOfArray(const float* x, int64_t n, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = SoftplusOf(x[i]);
}

TPURUN_CLONES void EluOfArray(const float* x, int64_t n, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = EluOf(x[i]);
}

TPURUN_CLONES void ReluSlope(const float* y, int64_t n, float* d) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) d[i] = y[i] > 0 ? d[i] : 0.0f;
}

TPURUN_CLONES void TanhSlope(const float* y, int64_t n, float* d) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) d[i] *= 1.0f - y[i] * y[i];
}

TPURUN_CLONES void SigmoidSlope(const float* y, int64_t n, float* d) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) d[i] *= y[i] * (1.0f - y[i]);
}

TPURUN_CLONES void SoftplusSlope(const float* y, int64_t n, float* d) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) d[i] *= -Expm1OfNegative(-y[i]);
}

TPURUN_CLONES void EluSlope(const float* y, int64_t n, float* d) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) d[i] *= y[i] > 0 ? 1.0f : y[i] + 1.0f;
}

TPURUN_CLONES void SumOfArrays(const float* x, const float* y, int64_t n, float* z) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}

TPURUN_CLONES void ProductOfArrays(const float* x, const float* y, int64_t n, float* z) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] * y[i];
}

}  // namespace

std::optional<GateFunction> ParseGateFunction(std::string_view name) {
  for (const auto& [of, function] : kGateFunctions) {
    if (of == name) return function;
  }
  return std::nullopt;
}

bool IsRecurrentFunction(const std::string& name) { return ParseGateFunction(name).has_value(); }

std::string RecurrentFunctionNames() {
  std::string names;
  for (const auto& [name, function] : kGateFunctions)
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(name));
  return names;
}

void ApplyGate(GateFunction f, const float* x, int64_t n, float* y) {
  switch (f) {
    case GateFunction::kLinear:
      if (x != y) std::copy(x, x + n, y);
      return;
    case GateFunction::kRelu:
      return ReluOfArray(x, n, y);
    case GateFunction::kTanh:
      return TanhOfArray(x, n, y);
    case GateFunction::kSigmoid:
      return SigmoidOfArray(x, n, y);
    case GateFunction::kSoftplus:
      return SoftplusOfArray(x, n, y);
    case GateFunction::kElu:
      return EluOfArray(x, n, y);
  }
}

void MultiplyBySlope(GateFunction f, const float* y, int64_t n, float* d) {
  switch (f) {
    case GateFunction::kLinear:
      return;
    case GateFunction::kRelu:
      return ReluSlope(y, n, d);
    case GateFunction::kTanh:
      return TanhSlope(y, n, d);
    case GateFunction::kSigmoid:
      return SigmoidSlope(y, n, d);
    case GateFunction::kSoftplus:
      return SoftplusSlope(y, n, d);
    case GateFunction::kElu:
      return EluSlope(y, n, d);
  }
}

void AddArrays(const float* x, const float* y, int64_t n, float* z) { SumOfArrays(x, y, n, z); }

void MultiplyArrays(const float* x, const float* y, int64_t n, float* z) {
  ProductOfArrays(x, y, n, z);
}

}  // namespace tpurun
