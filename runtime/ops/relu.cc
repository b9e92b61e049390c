// relu and its gradient, on f32 and on values stored in bf16.
#include "runtime/ops/relu.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ops/max_pool.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/value_if.h"

namespace tpurun {
namespace {

constexpr int16_t kInfinity = 0x7f80;

inline bool Positive(float y) { return y > 0; }
// True for positive bf16 bits: those of the least number to those of infinity. NaN is above them.
inline bool Positive(uint16_t y) { return static_cast<uint16_t>(y - 1) < kInfinity; }

TPURUN_CLONES void ReluLoop(const uint16_t* x, int64_t n, uint16_t* y) {
  for (int64_t i = 0; i < n; ++i) {
    const int16_t bits = static_cast<int16_t>(x[i]);
    const bool kept = bits > 0 || static_cast<int16_t>(bits & 0x7fff) > kInfinity;
    y[i] = kept ? x[i] : uint16_t{0};
  }
}

template <typename T, typename Y>
[[gnu::always_inline]] inline void GradLoop(const T* dy, const Y* y, int64_t n, T* dx) {
  for (int64_t i = 0; i < n; ++i) dx[i] = ValueIf(Positive(y[i]), dy[i]);
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

// True if an operand is bf16.
bool AnyBF16(const OpCall& call) {
  return std::any_of(call.operands.begin(), call.operands.end(),
                     [](const Shape& shape) { return shape.dtype == DType::kBF16; });
}

std::unique_ptr<Kernel> BF16Relu() {
  return KernelOf([](const KernelArgs& args) {
    ReluLoop(static_cast<const uint16_t*>(args.operands[0]) + args.begin, args.end - args.begin,
             static_cast<uint16_t*>(args.results[0]) + args.begin);
  });
}

std::unique_ptr<Kernel> BF16ReluGrad(const OpCall& call) {
  if (call.operands[0].dtype == DType::kF32) return GradKernel<float, uint16_t>();
  if (call.operands[1].dtype == DType::kF32) return GradKernel<uint16_t, float>();
  return GradKernel<uint16_t, uint16_t>();
}

constexpr auto kNotNegative = [](float x) { return x > 0 || x != x ? x : 0.0f; };
constexpr auto kWherePositive = [](auto dy, auto y) { return y > 0 ? dy : decltype(dy)(0); };

}  // namespace

const OpDef& ReluGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "relu_grad",
      .doc =
          "dx = dy where the relu's output y > 0, else 0 (dy, y), each f32 or bf16. Its own "
          "gradient flows to dy only.",
      .min_operands = 2,
      .max_operands = 2,
      .flags = {.unit = WorkUnit::kElements,
                .elementwise = true,
                .row_operands = kAllOperands,
                .commutes = 1u << 0,
                .sign_only = 1u << 1,
                .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        if (operands[0].dims != operands[1].dims || !IsFloat(operands[0].dtype) ||
            !IsFloat(operands[1].dtype)) {
          return absl::InvalidArgumentError(
              absl::StrCat("relu_grad: want dy and y of one shape, got ", operands[0].ToString(),
                           " and ", operands[1].ToString()));
        }
        return std::vector<Shape>{operands[0]};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> ddx) {
            return std::vector<Value>{b.Add(ReluGradOp(), {ddx[0], node.inputs[1]}), Value{}};
          },
      .simplify = ReluGradOfPooled,
      .reference =
          [](const OpCall& call) {
            return AnyBF16(call) ? BF16ReluGrad(call) : BinaryKernel(call, kWherePositive);
          },
      .tile = BinaryTile(kWherePositive),
      .chain_op = ChainOp::kWherePositive};
  return op;
}

const OpDef& ReluOp() {
  static const OpDef& op =
      *new OpDef{.name = "relu",
                 .doc = "max(x, 0) of x, f32 or bf16; NaN stays NaN.",
                 .min_operands = 1,
                 .max_operands = 1,
                 .flags = {.unit = WorkUnit::kElements,
                           .elementwise = true,
                           .row_operands = kAllOperands,
                           .commutes = 1u << 0,
                           .any_dtype = true},
                 .infer_shape = [](std::span<const Shape> operands,
                                   const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
                   if (!IsFloat(operands[0].dtype)) {
                     return absl::InvalidArgumentError(
                         absl::StrCat("relu: want f32, got ", operands[0].ToString()));
                   }
                   return std::vector<Shape>{Shape{operands[0].dtype, operands[0].dims}};
                 },
                 .gradient =
                     [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
                       return std::vector<Value>{
                           b.Add(ReluGradOp(), {dy[0], Value{node.id, 0}}, {}, "ReluGrad")};
                     },
                 .reference =
                     [](const OpCall& call) {
                       return AnyBF16(call) ? BF16Relu() : UnaryKernel(call, kNotNegative);
                     },
                 .tile = UnaryTile(kNotNegative),
                 .chain_op = ChainOp::kRelu,
                 .tensorflow = TensorFlowOp("Relu"),
                 .onnx = OnnxOp("Relu")};
  return op;
}

std::vector<const OpDef*> ReluOps() { return {&ReluOp(), &ReluGradOp()}; }

Value Relu(GraphBuilder& b, Value x, const std::string& label) {
  return b.Add(ReluOp(), {x}, {}, label);
}

}  // namespace tpurun
