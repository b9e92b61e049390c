// What element-wise ops share: the shape rule, scalar broadcasting and the loops.
#ifndef TPURUN_RUNTIME_IR_ELEMENTWISE_H_
#define TPURUN_RUNTIME_IR_ELEMENTWISE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {

// All operands have one dtype and one shape, or rank 0; the result has that shape.
absl::StatusOr<std::vector<Shape>> ElementwiseShape(const std::string& op,
                                                    std::span<const Shape> operands);

// The gradient of a scalar operand that went with every element: dy summed to a scalar. dy itself
// when `operand` has its shape.
Value SumToShape(GraphBuilder& b, Value dy, Value operand);

// x (any shape) -> the sum of all its elements, f32[]: chunks of 4096 from the left, each summed in
// 16 interleaved lanes, the chunk sums added in a pairwise tree.
const OpDef& SumOfElementsOp();
float SumOfElements(const float* x, int64_t n);

// z = x where the other operand is the constant that changes nothing: `of_floats` for f32, where x
// must be the outcome of arithmetic too (a subnormal would be flushed, a signalling NaN quieted),
// `of_whole` for whole numbers. `either`: it may also be operand 0 that is the constant.
Simpler WithoutIdentity(const Graph& graph, const Node& node, double of_floats, double of_whole,
                        bool either);

// Loops for z = f(x, y) and y = f(x) over f32, s32 or s64 (Result: float, ... or bool for a pred).
template <typename T, typename F>
std::unique_ptr<Kernel> TypedBinaryKernel(const OpCall& call, F f) {
  using R = decltype(f(T{}, T{}));
  const bool x_scalar = call.operands[0].rank() == 0 && call.results[0].rank() > 0;
  const bool y_scalar = call.operands[1].rank() == 0 && call.results[0].rank() > 0;
  return KernelOf([=](const KernelArgs& args) {
    const T* x = static_cast<const T*>(args.operands[0]);
    const T* y = static_cast<const T*>(args.operands[1]);
    R* z = static_cast<R*>(args.results[0]);
    if (x_scalar) {
      const T x0 = x[0];
      for (int64_t i = args.begin; i < args.end; ++i) z[i] = f(x0, y[i]);
    } else if (y_scalar) {
      const T y0 = y[0];
      for (int64_t i = args.begin; i < args.end; ++i) z[i] = f(x[i], y0);
    } else {
      for (int64_t i = args.begin; i < args.end; ++i) z[i] = f(x[i], y[i]);
    }
  });
}

template <typename F>
std::unique_ptr<Kernel> BinaryKernel(const OpCall& call, F f) {
  switch (call.operands[0].dtype) {
    case DType::kS32:
      return TypedBinaryKernel<int32_t>(call, f);
    case DType::kS64:
      return TypedBinaryKernel<int64_t>(call, f);
    default:
      return TypedBinaryKernel<float>(call, f);
  }
}

template <typename F>
std::unique_ptr<Kernel> UnaryKernel(const OpCall&, F f) {
  return KernelOf([f](const KernelArgs& args) {
    const float* x = static_cast<const float*>(args.operands[0]);
    float* y = static_cast<float*>(args.results[0]);
    for (int64_t i = args.begin; i < args.end; ++i) y[i] = f(x[i]);
  });
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_ELEMENTWISE_H_
