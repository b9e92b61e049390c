// Element-wise ops. x, y, z have one shape (..., C). A scalar operand is broadcast to every
// element, a row (C) along the last dimension.
#include "runtime/ir/elementwise.h"

#include <cmath>
#include <numbers>

#include "runtime/base/status.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

constexpr OpFlags kElementwise = {
    .unit = WorkUnit::kElements, .elementwise = true, .row_operands = kAllOperands};

// f32 results of one IEEE operation. Functions of libm do not qualify: libm does not specify their
// results for subnormals and signalling NaNs.
constexpr OpFlags kArithmetic = {.unit = WorkUnit::kElements,
                                 .elementwise = true,
                                 .row_operands = kAllOperands,
                                 .arithmetic = true};

auto ShapeRule(const char* name) {
  return [name](std::span<const Shape> operands, const Attrs&) {
    return ElementwiseShape(name, operands);
  };
}

absl::StatusOr<std::vector<Shape>> FloatShape(const char* name, std::span<const Shape> operands) {
  if (operands[0].dtype != DType::kF32) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": want f32, got ", operands[0].ToString()));
  }
  return ElementwiseShape(name, operands);
}

struct ExportedAs {
  ExportRule tensorflow;
  ExportRule onnx;
};

using BinaryGradient = std::vector<Value> (*)(GraphBuilder& b, const Node& node, Value dz);
using SimplifyFn = Replacement (*)(const Graph& graph, const Node& node);

template <typename F>
OpDef Binary(const char* name, const char* doc, const ExportedAs& exported, F f,
             BinaryGradient gradient, const OpFlags& flags = kElementwise,
             SimplifyFn simplify = nullptr) {
  OpDef op{.name = name,
           .doc = doc,
           .min_operands = 2,
           .max_operands = 2,
           .flags = flags,
           .infer_shape = ShapeRule(name),
           .reference = [f](const OpCall& call) { return BinaryKernel(call, f); },
           .tile = BinaryTile(f),
           .tensorflow = exported.tensorflow,
           .onnx = exported.onnx};
  // The gradient of a scalar or a row is the sum over all elements that it is broadcast to.
  op.gradient = [gradient](GraphBuilder& b, const Node& node, std::span<const Value> dz) {
    std::vector<Value> gradients = gradient(b, node, dz[0]);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].valid()) gradients[i] = SumToShape(b, gradients[i], node.inputs[i]);
    }
    return gradients;
  };
  if (simplify != nullptr) op.simplify = simplify;
  return op;
}

OpDef InChains(OpDef op, ChainOp chain_op) {
  op.chain_op = chain_op;
  return op;
}

// Counts an element of the op as a call of a transcendental function and `flops` operations.
OpDef Transcendental(OpDef op, int flops = 0) {
  op.element_flops = flops;
  op.element_transcendentals = 1;
  return op;
}

template <typename F>
OpDef Comparison(const char* name, const char* doc, const ExportedAs& exported, F f) {
  return OpDef{.name = name,
               .doc = doc,
               .min_operands = 2,
               .max_operands = 2,
               .flags = kElementwise,
               .infer_shape = [name](std::span<const Shape> operands,
                                     const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
                 ASSIGN_OR_RETURN(std::vector<Shape> shapes, ElementwiseShape(name, operands));
                 shapes[0].dtype = DType::kPred;
                 return shapes;
               },
               .reference = [f](const OpCall& call) { return BinaryKernel(call, f); },
               .tile = BinaryTile(f),
               .tensorflow = exported.tensorflow,
               .onnx = exported.onnx};
}

using UnaryGradient = Value (*)(GraphBuilder& b, Value x, Value y, Value dy);

template <typename F>
OpDef Unary(const char* name, const char* doc, const ExportedAs& exported, F f,
            UnaryGradient gradient, const OpFlags& flags = kElementwise) {
  return OpDef{
      .name = name,
      .doc = doc,
      .min_operands = 1,
      .max_operands = 1,
      .flags = flags,
      .infer_shape = [name](std::span<const Shape> operands,
                            const Attrs&) { return FloatShape(name, operands); },
      .gradient =
          [gradient](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{gradient(b, node.inputs[0], Value{node.id, 0}, dy[0])};
          },
      .reference = [f](const OpCall& call) { return UnaryKernel(call, f); },
      .tile = UnaryTile(f),
      .tensorflow = exported.tensorflow,
      .onnx = exported.onnx};
}

const OpDef& SubOp() {
  static const OpDef& op =
      *new OpDef(InChains(Binary(
                              "sub", "x - y", {TensorFlowOp("Sub"), OnnxOp("Sub")},
                              [](auto x, auto y) { return x - y; },
                              [](GraphBuilder& b, const Node&, Value dz) {
                                return std::vector<Value>{dz, Neg(b, dz)};
                              },
                              kArithmetic,
                              [](const Graph& graph, const Node& node) {
                                return WithoutIdentity(graph, node, 0, 0, false);
                              }),
                          ChainOp::kSubtract));
  return op;
}

const OpDef& MulOp() {
  static const OpDef& op = *new OpDef(InChains(
      Binary(
          "mul", "x * y", {TensorFlowOp("Mul"), OnnxOp("Mul")},
          [](auto x, auto y) { return x * y; },
          [](GraphBuilder& b, const Node& node, Value dz) {
            return std::vector<Value>{Mul(b, dz, node.inputs[1]), Mul(b, dz, node.inputs[0])};
          },
          kArithmetic,
          [](const Graph& graph, const Node& node) {
            return WithoutIdentity(graph, node, 1, 1, true);
          }),
      ChainOp::kMultiply));
  return op;
}

const OpDef& DivOp() {
  static const OpDef& op = *new OpDef(
      InChains(Binary(
                   "div", "x / y; whole numbers truncate, and x / 0 is 0 for them",
                   {[](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
                      const bool whole = call.operands[0].dtype != DType::kF32;
                      return TensorFlowOp(whole ? "TruncateDiv" : "RealDiv")(call);
                    },
                    OnnxOp("Div")},
                   [](auto x, auto y) {
                     if constexpr (std::is_integral_v<decltype(x)>) {
                       return y == 0    ? decltype(x)(0)
                              : y == -1 ? decltype(x)(0 - static_cast<uint64_t>(x))
                                        : x / y;
                     } else {
                       return x / y;
                     }
                   },
                   [](GraphBuilder& b, const Node& node, Value dz) {
                     const Value y = node.inputs[1];
                     return std::vector<Value>{Div(b, dz, y),
                                               Neg(b, Div(b, Mul(b, dz, Value{node.id, 0}), y))};
                   },
                   kArithmetic,
                   [](const Graph& graph, const Node& node) {
                     return WithoutIdentity(graph, node, 1, 1, false);
                   }),
               ChainOp::kDivide));
  return op;
}

const OpDef& GreaterOp() {
  static const OpDef& op = *new OpDef(Comparison("greater", "x > y -> pred",
                                                 {TensorFlowOp("Greater"), OnnxOp("Greater")},
                                                 [](auto x, auto y) { return x > y; }));
  return op;
}

const OpDef& GreaterEqualOp() {
  static const OpDef& op = *new OpDef(Comparison(
      "greater_equal", "x >= y -> pred", {TensorFlowOp("GreaterEqual"), OnnxOp("GreaterOrEqual")},
      [](auto x, auto y) { return x >= y; }));
  return op;
}

const OpDef& EqualOp() {
  static const OpDef& op =
      *new OpDef(Comparison("equal", "x == y -> pred", {TensorFlowOp("Equal"), OnnxOp("Equal")},
                            [](auto x, auto y) { return x == y; }));
  return op;
}

// dz if the condition holds, else 0.
Value Where(GraphBuilder& b, Value condition, Value dz) {
  return Select(b, condition, dz, Scalar(b, 0));
}

const OpDef& MaximumOp() {
  static const OpDef& op = *new OpDef(Binary(
      "maximum", "the larger of x and y; NaN if either is",
      {TensorFlowOp("Maximum"), OnnxOp("Max")},
      [](auto x, auto y) { return x > y || x != x ? x : y; },
      [](GraphBuilder& b, const Node& node, Value dz) {
        const Value first = GreaterEqual(b, node.inputs[0], node.inputs[1]);
        return std::vector<Value>{Where(b, first, dz), Sub(b, dz, Where(b, first, dz))};
      }));
  return op;
}

const OpDef& MinimumOp() {
  static const OpDef& op = *new OpDef(Binary(
      "minimum", "the smaller of x and y; NaN if either is",
      {TensorFlowOp("Minimum"), OnnxOp("Min")},
      [](auto x, auto y) { return x < y || x != x ? x : y; },
      [](GraphBuilder& b, const Node& node, Value dz) {
        const Value first = GreaterEqual(b, node.inputs[1], node.inputs[0]);
        return std::vector<Value>{Where(b, first, dz), Sub(b, dz, Where(b, first, dz))};
      }));
  return op;
}

const OpDef& PowOp() {
  static const OpDef& op = []() -> OpDef& {
    OpDef& pow = *new OpDef(Binary(
        "pow", "x to the power y, f32", {TensorFlowOp("Pow"), OnnxOp("Pow")},
        [](auto x, auto y) { return static_cast<decltype(x)>(std::pow(x, y)); },
        [](GraphBuilder& b, const Node& node, Value dz) {
          const Value x = node.inputs[0], y = node.inputs[1], z{node.id, 0};
          const Value dx = Mul(b, dz, Mul(b, y, Pow(b, x, Sub(b, y, Scalar(b, 1)))));
          return std::vector<Value>{dx, Mul(b, dz, Mul(b, z, Log(b, x)))};
        }));
    pow.infer_shape = [](std::span<const Shape> operands, const Attrs&) {
      return FloatShape("pow", operands);
    };
    pow.element_flops = 0;
    pow.element_transcendentals = 1;
    return pow;
  }();
  return op;
}

const OpDef& NegOp() {
  static const OpDef& op = []() -> OpDef& {
    OpDef& neg = *new OpDef(Unary(
        "neg", "-x", {TensorFlowOp("Neg"), OnnxOp("Neg")}, [](float x) { return -x; },
        [](GraphBuilder& b, Value, Value, Value dy) { return Neg(b, dy); }));
    neg.chain_op = ChainOp::kNegate;
    neg.simplify = [](const Graph& graph, const Node& node) -> Replacement {
      const Node& inner = graph.node(node.inputs[0]);
      return inner.op == node.op ? Replacement{.same = inner.inputs[0]} : Replacement{};
    };
    return neg;
  }();
  return op;
}

const OpDef& SqrtOp() {
  static const OpDef& op = *new OpDef(
      InChains(Transcendental(Unary(
                   "sqrt", "the square root of x", {TensorFlowOp("Sqrt"), OnnxOp("Sqrt")},
                   [](float x) { return std::sqrt(x); },
                   [](GraphBuilder& b, Value, Value y, Value dy) {
                     return Div(b, Mul(b, dy, Scalar(b, 0.5)), y);
                   },
                   kArithmetic)),
               ChainOp::kSquareRoot));
  return op;
}

const OpDef& RsqrtOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "rsqrt", "1 / sqrt(x)",
      {TensorFlowOp("Rsqrt"),
       [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
         return std::vector<Value>{
             call.graph.Add("Reciprocal", {call.graph.Add("Sqrt", call.inputs)})};
       }},
      [](float x) { return 1.0f / std::sqrt(x); },
      [](GraphBuilder& b, Value, Value y, Value dy) {
        return Mul(b, Mul(b, dy, Scalar(b, -0.5)), Mul(b, y, Square(b, y)));
      },
      kArithmetic)));
  return op;
}

const OpDef& SquareOp() {
  static const OpDef& op = *new OpDef(InChains(
      Unary(
          "square", "x * x",
          {TensorFlowOp("Square"),
           [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
             return std::vector<Value>{call.graph.Add("Mul", {call.inputs[0], call.inputs[0]})};
           }},
          [](float x) { return x * x; },
          [](GraphBuilder& b, Value x, Value, Value dy) {
            return Mul(b, dy, Mul(b, x, Scalar(b, 2)));
          },
          kArithmetic),
      ChainOp::kSquare));
  return op;
}

const OpDef& ExpOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "exp", "e to the power x", {TensorFlowOp("Exp"), OnnxOp("Exp")},
      [](float x) { return ExpOf(x); },
      [](GraphBuilder& b, Value, Value y, Value dy) { return Mul(b, dy, y); })));
  return op;
}

const OpDef& LogOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "log", "the natural logarithm of x", {TensorFlowOp("Log"), OnnxOp("Log")},
      [](float x) { return LogOf(x); },
      [](GraphBuilder& b, Value x, Value, Value dy) { return Div(b, dy, x); })));
  return op;
}

const OpDef& FloorOp() {
  static const OpDef& op = *new OpDef(Unary(
      "floor", "the largest whole number not above x; its gradient is 0",
      {TensorFlowOp("Floor"), OnnxOp("Floor")}, [](float x) { return std::floor(x); },
      [](GraphBuilder&, Value, Value, Value) { return Value{}; }));
  return op;
}

const OpDef& TanhOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "tanh", "tanh(x)", {TensorFlowOp("Tanh"), OnnxOp("Tanh")}, [](float x) { return TanhOf(x); },
      [](GraphBuilder& b, Value, Value y, Value dy) {
        return Mul(b, dy, Sub(b, Scalar(b, 1), Square(b, y)));
      })));
  return op;
}

const OpDef& SinOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "sin", "sin(x), x in radians", {TensorFlowOp("Sin"), OnnxOp("Sin")},
      [](float x) { return std::sin(x); },
      [](GraphBuilder& b, Value x, Value, Value dy) { return Mul(b, dy, Cos(b, x)); })));
  return op;
}

const OpDef& CosOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "cos", "cos(x), x in radians", {TensorFlowOp("Cos"), OnnxOp("Cos")},
      [](float x) { return std::cos(x); },
      [](GraphBuilder& b, Value x, Value, Value dy) { return Neg(b, Mul(b, dy, Sin(b, x))); })));
  return op;
}

const OpDef& SigmoidOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "sigmoid", "1 / (1 + exp(-x))", {TensorFlowOp("Sigmoid"), OnnxOp("Sigmoid")},
      [](float x) { return SigmoidOf(x); },
      [](GraphBuilder& b, Value, Value y, Value dy) {
        return Mul(b, dy, Mul(b, y, Sub(b, Scalar(b, 1), y)));
      })));
  return op;
}

const OpDef& EluOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "elu", "x where x > 0, else exp(x) - 1", {TensorFlowOp("Elu"), OnnxOp("Elu")},
      [](float x) { return EluOf(x); },
      [](GraphBuilder& b, Value x, Value y, Value dy) {
        const Value slope = Add(b, y, Scalar(b, 1));
        return Select(b, Greater(b, x, Scalar(b, 0)), dy, Mul(b, dy, slope));
      })));
  return op;
}

const OpDef& ErfOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "erf", "the error function: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x",
      {TensorFlowOp("Erf"), OnnxOp("Erf")}, [](float x) { return ErfOf(x); },
      [](GraphBuilder& b, Value x, Value, Value dy) {
        const Value bell = Exp(b, Neg(b, Square(b, x)));
        return Mul(b, dy, Mul(b, bell, Scalar(b, 2 * std::numbers::inv_sqrtpi)));
      })));
  return op;
}

const OpDef& SoftplusOp() {
  static const OpDef& op = *new OpDef(Transcendental(Unary(
      "softplus", "log(1 + exp(x))", {TensorFlowOp("Softplus"), OnnxOp("Softplus")},
      [](float x) { return SoftplusOf(x); },
      [](GraphBuilder& b, Value x, Value, Value dy) { return Mul(b, dy, Sigmoid(b, x)); })));
  return op;
}

using Choose = decltype([](auto condition, auto x, auto y) { return condition ? x : y; });

std::unique_ptr<Kernel> SelectKernel(const OpCall& call) {
  // Elements are copied as bytes, so only their size matters.
  const auto kernel = [&]<typename T>(T) {
    return TileKernel(call, Tile<Choose, T, uint8_t, T, T>);
  };
  switch (ByteSize(call.results[0].dtype)) {
    case 1:
      return kernel(uint8_t{});
    case 2:
      return kernel(uint16_t{});
    case 4:
      return kernel(uint32_t{});
    default:
      return kernel(uint64_t{});
  }
}

const OpDef& SelectOp() {
  static const OpDef& op = *new OpDef{
      .name = "select",
      .doc = "x where the condition (pred) holds, else y; any of the three may be a scalar.",
      .min_operands = 3,
      .max_operands = 3,
      .flags = kElementwise,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        if (operands[0].dtype != DType::kPred) {
          return absl::InvalidArgumentError(
              absl::StrCat("select: want a pred condition, got ", operands[0].ToString()));
        }
        Shape condition = operands[0];
        condition.dtype = operands[1].dtype;
        const std::vector<Shape> alike = {condition, operands[1], operands[2]};
        return ElementwiseShape("select", alike);
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dz) {
            const Value condition = node.inputs[0];
            return std::vector<Value>{
                Value{}, SumToShape(b, Select(b, condition, dz[0], Scalar(b, 0)), node.inputs[1]),
                SumToShape(b, Select(b, condition, Scalar(b, 0), dz[0]), node.inputs[2])};
          },
      .simplify = [](const Graph& graph, const Node& node) -> Replacement {
        const Value condition = node.inputs[0], x = node.inputs[1], y = node.inputs[2];
        const bool takes_x = x == y || IsConstant(graph, condition, 1);
        if (!takes_x && !IsConstant(graph, condition, 0)) return {};
        const Value taken = takes_x ? x : y;
        return graph.shape(taken) == node.shapes[0] ? Replacement{.same = taken} : Replacement{};
      },
      .reference = SelectKernel,
      .tile = Tile<Choose, float, float, float, float>,
      .tensorflow = TensorFlowOp("SelectV2", 1),
      .onnx = OnnxOp("Where")};
  return op;
}

}  // namespace

std::vector<const OpDef*> ElementwiseOps() {
  return {&SubOp(),   &MulOp(),      &DivOp(),   &MaximumOp(), &MinimumOp(),      &PowOp(),
          &NegOp(),   &SqrtOp(),     &RsqrtOp(), &SquareOp(),  &ExpOp(),          &LogOp(),
          &FloorOp(), &TanhOp(),     &SinOp(),   &CosOp(),     &SigmoidOp(),      &EluOp(),
          &ErfOp(),   &SoftplusOp(), &EqualOp(), &GreaterOp(), &GreaterEqualOp(), &SelectOp()};
}

Value Sub(GraphBuilder& b, Value x, Value y, const std::string& label) {
  return b.Add(SubOp(), {x, y}, {}, label);
}
Value Mul(GraphBuilder& b, Value x, Value y, const std::string& label) {
  return b.Add(MulOp(), {x, y}, {}, label);
}
Value Div(GraphBuilder& b, Value x, Value y, const std::string& label) {
  return b.Add(DivOp(), {x, y}, {}, label);
}
Value Maximum(GraphBuilder& b, Value x, Value y) { return b.Add(MaximumOp(), {x, y}); }
Value Minimum(GraphBuilder& b, Value x, Value y) { return b.Add(MinimumOp(), {x, y}); }
Value Pow(GraphBuilder& b, Value x, Value y) { return b.Add(PowOp(), {x, y}); }
Value Neg(GraphBuilder& b, Value x) { return b.Add(NegOp(), {x}); }
Value Sqrt(GraphBuilder& b, Value x) { return b.Add(SqrtOp(), {x}); }
Value Rsqrt(GraphBuilder& b, Value x) { return b.Add(RsqrtOp(), {x}); }
Value Square(GraphBuilder& b, Value x) { return b.Add(SquareOp(), {x}); }
Value Exp(GraphBuilder& b, Value x) { return b.Add(ExpOp(), {x}); }
Value Log(GraphBuilder& b, Value x) { return b.Add(LogOp(), {x}); }
Value Floor(GraphBuilder& b, Value x) { return b.Add(FloorOp(), {x}); }
Value Tanh(GraphBuilder& b, Value x) { return b.Add(TanhOp(), {x}); }
Value Sin(GraphBuilder& b, Value x) { return b.Add(SinOp(), {x}); }
Value Cos(GraphBuilder& b, Value x) { return b.Add(CosOp(), {x}); }
Value Sigmoid(GraphBuilder& b, Value x) { return b.Add(SigmoidOp(), {x}); }
Value Elu(GraphBuilder& b, Value x) { return b.Add(EluOp(), {x}); }
Value Erf(GraphBuilder& b, Value x) { return b.Add(ErfOp(), {x}); }
Value Softplus(GraphBuilder& b, Value x) { return b.Add(SoftplusOp(), {x}); }
Value Equal(GraphBuilder& b, Value x, Value y) { return b.Add(EqualOp(), {x, y}); }
Value Greater(GraphBuilder& b, Value x, Value y) { return b.Add(GreaterOp(), {x, y}); }
Value GreaterEqual(GraphBuilder& b, Value x, Value y) { return b.Add(GreaterEqualOp(), {x, y}); }
Value Select(GraphBuilder& b, Value condition, Value x, Value y) {
  return b.Add(SelectOp(), {condition, x, y});
}

}  // namespace tpurun
