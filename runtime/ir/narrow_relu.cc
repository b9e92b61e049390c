#include "runtime/ir/narrow_relu.h"

#include <algorithm>

#include "runtime/base/clones.h"

namespace tpurun {
namespace {

constexpr int16_t kInfinity = 0x7f80;

inline bool Positive(float y) { return y > 0; }
// Of bf16 bits; NaN is not positive.
inline bool Positive(uint16_t y) {
  return static_cast<int16_t>(y) > 0 && static_cast<int16_t>(y) <= kInfinity;
}

TPURUN_CLONES void ReluLoop(const uint16_t* x, int64_t n, uint16_t* y) {
  for (int64_t i = 0; i < n; ++i) {
    const int16_t bits = static_cast<int16_t>(x[i]);
    const bool kept = bits > 0 || static_cast<int16_t>(bits & 0x7fff) > kInfinity;
    y[i] = kept ? x[i] : uint16_t{0};
  }
}

template <typename T, typename Y>
[[gnu::always_inline]] inline void GradLoop(const T* dy, const Y* y, int64_t n, T* dx) {
  for (int64_t i = 0; i < n; ++i) dx[i] = Positive(y[i]) ? dy[i] : T(0);
}
TPURUN_CLONES void ReluGradLoop(const uint16_t* dy, const uint16_t* y, int64_t n, uint16_t* dx) {
  GradLoop(dy, y, n, dx);
}
TPURUN_CLONES void ReluGradLoop(const uint16_t* dy, const float* y, int64_t n, uint16_t* dx) {
  GradLoop(dy, y, n, dx);
}
TPURUN_CLONES void ReluGradLoop(const float* dy, const uint16_t* y, int64_t n, float* dx) {
  GradLoop(dy, y, n, dx);
}

template <typename T, typename Y>
std::unique_ptr<Kernel> GradKernel() {
  return KernelOf([](const KernelArgs& args) {
    ReluGradLoop(static_cast<const T*>(args.operands[0]) + args.begin,
                 static_cast<const Y*>(args.operands[1]) + args.begin, args.end - args.begin,
                 static_cast<T*>(args.results[0]) + args.begin);
  });
}

}  // namespace

bool AnyNarrow(const OpCall& call) {
  return std::any_of(call.operands.begin(), call.operands.end(),
                     [](const Shape& shape) { return shape.dtype == DType::kBF16; });
}

std::unique_ptr<Kernel> MakeNarrowRelu(const OpCall&) {
  return KernelOf([](const KernelArgs& args) {
    ReluLoop(static_cast<const uint16_t*>(args.operands[0]) + args.begin, args.end - args.begin,
             static_cast<uint16_t*>(args.results[0]) + args.begin);
  });
}

std::unique_ptr<Kernel> MakeNarrowReluGrad(const OpCall& call) {
  if (call.operands[0].dtype == DType::kF32) return GradKernel<float, uint16_t>();
  if (call.operands[1].dtype == DType::kF32) return GradKernel<uint16_t, float>();
  return GradKernel<uint16_t, uint16_t>();
}

}  // namespace tpurun
