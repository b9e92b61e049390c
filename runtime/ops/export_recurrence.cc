#include "runtime/ops/export_recurrence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/ops/ops.h"

namespace tpurun {

Value StepInOps::Product(int product, Value left) {
  const Value y = MatMul(b, left, weights[product], precision);
  return product == 0 && bias.valid() ? BiasAdd(b, y, bias) : y;
}

Value StepInOps::Gates(Value gates, int64_t first, int64_t count) {
  if (!gates.valid()) return {};
  return Slice(b, gates, {0, first * units}, {b.shape(gates).dims[0], count * units});
}

Value StepInOps::Apply(GateFunction f, Value x) {
  switch (f) {
    case GateFunction::kLinear:
      return x;
    case GateFunction::kRelu:
      return Relu(b, x);
    case GateFunction::kTanh:
      return Tanh(b, x);
    case GateFunction::kSigmoid:
      return Sigmoid(b, x);
    case GateFunction::kSoftplus:
      return Softplus(b, x);
    case GateFunction::kElu:
      return Elu(b, x);
  }
  return x;
}

std::vector<Value> Unroll(Recurrence (*of)(const OpCall& call), GraphBuilder& b, const Node& node,
                          std::span<const Value> inputs) {
  OpCall call{.op = node.op, .attrs = node.attrs, .results = node.shapes};
  for (const Value input : inputs) call.operands.push_back(b.shape(input));
  const Recurrence r = of(call);
  const int64_t n = call.operands[0].dims[0], steps = call.operands[0].dims[1];
  const int64_t units = r.cell->units, width = r.cell->Width();
  const bool backwards = node.attrs.Get<bool>("go_backwards");
  const auto operand = [&](int i) { return i < 0 ? Value{} : inputs[i]; };

  StepInOps step{.b = b,
                 .units = units,
                 .precision = static_cast<Precision>(node.attrs.Int("precision")),
                 .bias = operand(r.bias),
                 .h = operand(r.h0),
                 .c = operand(r.c0)};
  for (const int weights : r.weights) step.weights.push_back(inputs[weights]);
  // Side by side, so that a step is some columns.
  const Value x = Reshape(b, inputs[0], {n, steps * width});
  Value masked;
  if (r.mask >= 0) {
    const Value of_units = Broadcast(b, inputs[r.mask], {n, steps, units}, {0, 1});
    masked = Greater(b, Scalar(b, 0.5), Reshape(b, of_units, {n, steps * units}));
  }
  std::vector<Value> h, c;
  for (int64_t i = 0; i < steps; ++i) {
    const ScopedName scope(b, absl::StrCat("step_", i));
    const int64_t time = backwards ? steps - 1 - i : i;
    step.x = Slice(b, x, {0, time * width}, {n, width});
    const Value h_before = step.h, c_before = step.c;
    r.cell->StepAsOps(step);
    if (masked.valid()) {
      const Value keeps = Slice(b, masked, {0, time * units}, {n, units});
      step.h = Select(b, keeps, h_before, step.h);
      if (step.c.valid()) step.c = Select(b, keeps, c_before, step.c);
    }
    h.push_back(step.h);
    c.push_back(step.c);
  }
  std::vector<Value> results(node.shapes.size());
  const auto of_every_step = [&](const std::vector<Value>& states) {
    return Reshape(b, Concat(b, states, 1), {n, steps, units});
  };
  results[r.h] = of_every_step(h);
  if (r.c >= 0) results[r.c] = of_every_step(c);
  return results;
}

}  // namespace tpurun
