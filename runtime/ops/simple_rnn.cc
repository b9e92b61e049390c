// The simplest recurrent cell, as in Keras' SimpleRNN: N rows, T steps, U units.
#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/ops/export_recurrence.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/recurrence.h"

namespace tpurun {
namespace {

const std::vector<std::string>& SimpleRnnFunctions() {
  static const std::vector<std::string>& names = *new std::vector<std::string>{"activation"};
  return names;
}

// h' = a(x + h R).
class SimpleCell final : public RecurrentCell {
 public:
  SimpleCell(int64_t units, const Attrs& attrs)
      : RecurrentCell(units, {1}, 0, {.flops = 1, .transcendentals = 1}, {.flops = 3}),
        activation_(FunctionOf(attrs, "activation")) {}

  void Step(int, const CellStep& row) const override {
    AddArrays(row.x, row.products, units, row.h);
    ApplyGate(activation_, row.h, units, row.h);
  }

  void StepGrad(int, const CellGradStep& row) const override {
    std::copy_n(row.dh, units, row.dx);
    MultiplyBySlope(activation_, row.h, units, row.dx);
    std::fill_n(row.dh, units, 0.0f);
  }

  void StepAsOps(StepInOps& step) const override {
    step.h = step.Apply(activation_, Add(step.b, step.x, step.Product(0, step.h)));
  }

 private:
  const GateFunction activation_;
};

Recurrence SimpleRnnOf(const OpCall& call) {
  Recurrence r;
  r.cell = std::make_shared<SimpleCell>(call.operands[2].dims[1], call.attrs);
  r.weights = {1};
  r.h0 = 2;
  r.h = 0;
  if (call.operands.size() > 3) r.mask = 3;
  return r;
}

Recurrence SimpleRnnGradOf(const OpCall& call) {
  Recurrence r;
  r.cell = std::make_shared<SimpleCell>(call.operands[2].dims[1], call.attrs);
  r.is_gradient = true;
  r.weights = {1};
  r.h0 = 2;
  r.h = 3;
  if (call.operands.size() > 4) r.mask = 4;
  r.sums = 2;
  return r;
}

struct SimpleRnnShapes {
  Shape weights, state, states, mask;
};

// From operand 0, x or the gradient of h.
SimpleRnnShapes SimpleShapesOf(const Shape& of_steps) {
  if (of_steps.rank() != 3) return {};
  const int64_t n = of_steps.dims[0], t = of_steps.dims[1], u = of_steps.dims[2];
  return {.weights = {DType::kF32, {u, u}},
          .state = {DType::kF32, {n, u}},
          .states = {DType::kF32, {n, t, u}},
          .mask = {DType::kF32, {n, t}}};
}

const OpDef& SimpleRnnGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "simple_rnn_grad",
      .doc =
          "The gradient of simple_rnn: dh (N, T, U) of h of every step, recurrent_kernel (U, U), "
          "h0 (N, U), h (N, T, U) and perhaps its mask (N, T) -> dx (N, T, U), dh0, and dx summed "
          "over time (N, U).",
      .min_operands = 4,
      .max_operands = 5,
      .attrs = RecurrenceAttrs(SimpleRnnFunctions()),
      .flags = {.unit = WorkUnit::kRows, .spans_replicas = true},
      .refine_flags = [](const OpCall& call,
                         OpFlags& flags) { RefineRecurrence(SimpleRnnGradOf(call), call, flags); },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const SimpleRnnShapes s = SimpleShapesOf(operands[0]);
        RETURN_IF_ERROR(CheckRecurrence("simple_rnn_grad",
                                        "f32 dh [N,T,U], recurrent kernel [U,U], h0 [N,U], h "
                                        "[N,T,U] and perhaps a mask [N,T]",
                                        operands, attrs, SimpleRnnFunctions(),
                                        {s.states, s.weights, s.state, s.states}, {s.mask}));
        return std::vector<Shape>{s.states, s.state, s.state};
      },
      .reference =
          [](const OpCall& call) { return ReferenceRecurrence(SimpleRnnGradOf(call), call); },
      .kernels = RecurrenceKernels(SimpleRnnGradOf),
      .cost = [](const OpCall& call,
                 Cost& cost) { RecurrenceCost(SimpleRnnGradOf(call), call, cost); },
      .tpu = [](const OpCall& call) { return RecurrenceOnTpu(SimpleRnnGradOf(call), call); },
      .rules = {.summed_result = 2}};
  return op;
}

std::vector<Value> SimpleRnnGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  std::vector<Value> operands = {dy[0], node.inputs[1], node.inputs[2], {node.id, 0}};
  if (node.inputs.size() > 3) operands.push_back(node.inputs[3]);
  std::vector<Value> gradients(node.inputs.size());
  const Value dx = b.Add(SimpleRnnGradOp(), operands, node.attrs);
  if (!dx.valid()) return gradients;
  gradients[0] = dx;
  const Value left = StatesBefore(b, node.inputs[2], {node.id, 0}, node.attrs);
  gradients[1] = RecurrentKernelGradient(b, left, dx, node.attrs);
  gradients[2] = {dx.node, 1};
  return gradients;
}

const OpDef& SimpleRnnOp() {
  static const OpDef& op = *new OpDef{
      .name = "simple_rnn",
      .doc =
          "x (N, T, U), the input's share, recurrent_kernel R (U, U), h0 (N, U) and perhaps a mask "
          "(N, T) -> h of every step (N, T, U): h' = a(x + h R), a being activation. Mask, "
          "precision and go_backwards are as in lstm.",
      .min_operands = 3,
      .max_operands = 4,
      .attrs = RecurrenceAttrs(SimpleRnnFunctions()),
      .flags = {.unit = WorkUnit::kRows, .spans_replicas = true},
      .refine_flags = [](const OpCall& call,
                         OpFlags& flags) { RefineRecurrence(SimpleRnnOf(call), call, flags); },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const SimpleRnnShapes s = SimpleShapesOf(operands[0]);
        RETURN_IF_ERROR(CheckRecurrence(
            "simple_rnn",
            "f32 x [N,T,U], recurrent kernel [U,U], h0 [N,U] and perhaps a mask [N,T]", operands,
            attrs, SimpleRnnFunctions(), {s.states, s.weights, s.state}, {s.mask}));
        return std::vector<Shape>{s.states};
      },
      .gradient = SimpleRnnGradient,
      .reference = [](const OpCall& call) { return ReferenceRecurrence(SimpleRnnOf(call), call); },
      .kernels = RecurrenceKernels(SimpleRnnOf),
      .cost = [](const OpCall& call, Cost& cost) { RecurrenceCost(SimpleRnnOf(call), call, cost); },
      .tpu = [](const OpCall& call) { return RecurrenceOnTpu(SimpleRnnOf(call), call); },
      .onnx =
          [](ExportCall& call) {
            return RecurrenceToOnnx(SimpleRnnOf,
                                    {.op = "RNN", .gates = {0}, .functions = {"activation"}}, call);
          },
      .expand = [](GraphBuilder& b, const Node& node,
                   std::span<const Value> inputs) { return Unroll(SimpleRnnOf, b, node, inputs); }};
  return op;
}

}  // namespace

std::vector<const OpDef*> SimpleRnnOps() { return {&SimpleRnnOp(), &SimpleRnnGradOp()}; }

Value SimpleRnn(GraphBuilder& b, Value x, Value recurrent_kernel, Value h0, Value mask,
                const RecurrentArgs& args) {
  std::vector<Value> operands = {x, recurrent_kernel, h0};
  if (mask.valid()) operands.push_back(mask);
  Attrs attrs = AttrsOf(args);
  attrs.Erase("recurrent_activation");
  return b.Add(SimpleRnnOp(), std::move(operands), std::move(attrs), "simple_rnn");
}

}  // namespace tpurun
