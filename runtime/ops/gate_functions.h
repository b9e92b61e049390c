// The functions that recurrent cells apply to their gates and states, for f32 arrays.
#ifndef TPURUN_RUNTIME_OPS_GATE_FUNCTIONS_H_
#define TPURUN_RUNTIME_OPS_GATE_FUNCTIONS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tpurun {

// Functions whose slope can be computed from their value alone. A gradient therefore reads only the
// values that the cell keeps.
enum class GateFunction : uint8_t { kLinear, kRelu, kTanh, kSigmoid, kSoftplus, kElu };

// Parses Keras' names, such as "tanh".
std::optional<GateFunction> ParseGateFunction(std::string_view name);

// y[i] = f(x[i]). y may be x.
void ApplyGate(GateFunction f, const float* x, int64_t n, float* y);
// d[i] *= f'(x[i]), with y[i] = f(x[i]).
void MultiplyBySlope(GateFunction f, const float* y, int64_t n, float* d);

// z[i] = x[i] + y[i], and z[i] = x[i] y[i]. z may be x or y.
void AddArrays(const float* x, const float* y, int64_t n, float* z);
void MultiplyArrays(const float* x, const float* y, int64_t n, float* z);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_GATE_FUNCTIONS_H_
