// Gaussian error linear units (Hendrycks, Gimpel 2016).
#include <numbers>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

constexpr float kHalfRoot = std::numbers::sqrt2_v<float> / 2;
constexpr float kBell = std::numbers::inv_sqrtpi_v<float> * kHalfRoot;  // 1 / sqrt(2 pi)
constexpr float kCubic = 0.044715f;
constexpr float kTanhScale = 2 * kBell;  // sqrt(2 / pi)

// The distribution function of the normal distribution at x.
constexpr auto kPhi = [](float x) { return 0.5f * (1.0f + ErfOf(x * kHalfRoot)); };
// The tanh of GELU's approximation.
constexpr auto kTanh = [](float x) { return TanhOf(kTanhScale * x * (1.0f + kCubic * x * x)); };

constexpr auto kGelu = [](float x) { return x * kPhi(x); };
constexpr auto kGeluGrad = [](float dy, float x) {
  return dy * (kPhi(x) + x * (kBell * ExpOfNegative(-0.5f * x * x)));
};
constexpr auto kGeluTanh = [](float x) { return 0.5f * x * (1.0f + kTanh(x)); };
constexpr auto kGeluTanhGrad = [](float dy, float x) {
  const float t = kTanh(x);
  const float slope = kTanhScale * (1.0f + 3 * kCubic * x * x);
  return dy * (0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * slope);
};

// The operations of an element besides its calls of erf, exp and tanh.
struct ElementCost {
  int flops;
  int transcendentals = 1;
};

// An element-wise op of x, or of dy and x.
template <typename F>
OpDef OfElements(const char* name, const char* doc, F f, ElementCost cost) {
  constexpr bool kUnary = std::is_invocable_v<F, float>;
  OpDef op = {.name = name,
              .doc = doc,
              .min_operands = kUnary ? 1 : 2,
              .max_operands = kUnary ? 1 : 2,
              .flags = {.unit = WorkUnit::kElements,
                        .elementwise = true,
                        .row_operands = kAllOperands,
                        .arithmetic = true},
              .infer_shape = [name](std::span<const Shape> operands,
                                    const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
                const Shape &first = operands.front(), &last = operands.back();
                if (first.dtype == DType::kF32 && first == last) return std::vector<Shape>{first};
                return absl::InvalidArgumentError(
                    kUnary ? absl::StrCat(name, ": want f32, got ", first.ToString())
                           : absl::StrCat(name, ": want dy and x in f32 of one shape, got ",
                                          first.ToString(), " and ", last.ToString()));
              },
              .element_flops = cost.flops,
              .element_transcendentals = cost.transcendentals};
  if constexpr (kUnary) {
    op.reference = [f](const OpCall& call) { return UnaryKernel(call, f); };
    op.tile = UnaryTile(f);
  } else {
    op.reference = [f](const OpCall& call) { return BinaryKernel(call, f); };
    op.tile = BinaryTile(f);
  }
  return op;
}

// The op y = f(x). Its gradient is an op of (dy, x).
template <typename F>
OpDef ForwardOp(const char* name, const char* doc, F f, ElementCost cost, const OpDef& grad,
                Value (*in_ops)(GraphBuilder& b, Value x)) {
  OpDef op = OfElements(name, doc, f, cost);
  op.gradient = [&grad](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
    return std::vector<Value>{b.Add(grad, {dy[0], node.inputs[0]})};
  };
  op.expand = [in_ops](GraphBuilder& b, const Node&, std::span<const Value> inputs) {
    return std::vector<Value>{in_ops(b, inputs[0])};
  };
  return op;
}

const OpDef& GeluGradOp() {
  static const OpDef& op = *new OpDef(OfElements(
      "gelu_grad", "dx = dy (P(x) + x exp(-x^2 / 2) / sqrt(2 pi)) of (dy, x), P as gelu's",
      kGeluGrad, {.flops = 9, .transcendentals = 2}));
  return op;
}

const OpDef& GeluOp() {
  static const OpDef& op = *new OpDef(
      ForwardOp("gelu", "x P(x), P(x) = (1 + erf(x / sqrt(2))) / 2, the normal distribution", kGelu,
                {.flops = 4}, GeluGradOp(), [](GraphBuilder& b, Value x) {
                  const Value erf = Erf(b, Mul(b, x, Scalar(b, std::numbers::sqrt2 / 2)));
                  return Mul(b, Mul(b, x, Scalar(b, 0.5)), Add(b, erf, Scalar(b, 1)));
                }));
  return op;
}

const OpDef& GeluTanhGradOp() {
  static const OpDef& op = *new OpDef(
      OfElements("gelu_tanh_grad", "dx = dy times the derivative of gelu_tanh at x, of (dy, x)",
                 kGeluTanhGrad, {.flops = 18}));
  return op;
}

const OpDef& GeluTanhOp() {
  static const OpDef& op = *new OpDef(
      ForwardOp("gelu_tanh", "x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): about gelu",
                kGeluTanh, {.flops = 8}, GeluTanhGradOp(), [](GraphBuilder& b, Value x) {
                  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
                  const Value slope =
                      Add(b, Mul(b, Square(b, x), Scalar(b, 0.044715 * scale)), Scalar(b, scale));
                  const Value tanh = Tanh(b, Mul(b, x, slope));
                  return Mul(b, Mul(b, x, Scalar(b, 0.5)), Add(b, tanh, Scalar(b, 1)));
                }));
  return op;
}

}  // namespace

std::vector<const OpDef*> GeluOps() {
  return {&GeluOp(), &GeluGradOp(), &GeluTanhOp(), &GeluTanhGradOp()};
}

Value Gelu(GraphBuilder& b, Value x) { return b.Add(GeluOp(), {x}); }
Value GeluTanh(GraphBuilder& b, Value x) { return b.Add(GeluTanhOp(), {x}); }

}  // namespace tpurun
