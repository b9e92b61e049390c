#include "runtime/ops/export_recurrence.h"

#include <algorithm>
#include <optional>

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
  // One row per sequence, so that each step is a range of columns.
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

namespace {

// x kernel + bias for all steps: x (N, T, C), kernel (C, W), bias (W). The bias may be invalid.
struct Projection {
  Value x, kernel, bias;
};

// The projection that computes the gates (N, T, W) in the form that layers build: reshape <-
// [bias_add] <- matmul <- reshape.
std::optional<Projection> ProjectionOf(const Graph& model, Value gates) {
  const Node& of_steps = model.node(gates);
  if (!IsReshape(of_steps)) return std::nullopt;
  Projection projection;
  const Node* product = &model.node(of_steps.inputs[0]);
  if (product->op->rules.adds_bias) {
    projection.bias = product->inputs[1];
    product = &model.node(product->inputs[0]);
  }
  if (!IsMatMul(*product) || product->inputs.size() > 2 ||
      product->attrs.Get<bool>("transpose_x") || product->attrs.Get<bool>("transpose_y")) {
    return std::nullopt;
  }
  const Node& rows = model.node(product->inputs[0]);
  if (!IsReshape(rows)) return std::nullopt;
  projection.x = rows.inputs[0];
  projection.kernel = product->inputs[1];
  const std::vector<int64_t>& dims = of_steps.shapes[0].dims;
  const std::vector<int64_t> want = {dims[0], dims[1], model.shape(projection.kernel).dims[0]};
  if (model.shape(projection.x).dims != want) return std::nullopt;
  return projection;
}

// The nodes that read `value`.
std::vector<const Node*> ReadersOf(const Graph& model, Value value) {
  std::vector<const Node*> readers;
  for (const Node& node : model.nodes()) {
    if (std::count(node.inputs.begin(), node.inputs.end(), value) > 0) readers.push_back(&node);
  }
  return readers;
}

// True if the node takes the last step of states (N, T, U), as (N, 1, U).
bool IsLastStep(const Node& node, const std::vector<int64_t>& states) {
  const std::vector<int64_t> last = {states[0], 1, states[2]}, begin = {0, states[1] - 1, 0};
  return IsSlice(node) && node.shapes[0].dims == last && node.attrs.Ints("begin") == begin;
}

bool OnlyLastIsRead(const ExportCall& call, int result) {
  const Value states = {call.node.id, result};
  if (std::count(call.wanted.begin(), call.wanted.end(), states) > 0) return false;
  const std::vector<const Node*> readers = ReadersOf(call.model, states);
  return std::all_of(readers.begin(), readers.end(), [&](const Node* reader) {
    return IsLastStep(*reader, call.node.shapes[result].dims);
  });
}

class OnnxRecurrence {
 public:
  OnnxRecurrence(const Recurrence& r, const OnnxCell& cell, const Projection& projection,
                 ExportCall& call)
      : r_(r), cell_(cell), projection_(projection), call_(call), g_(call.graph) {}

  std::vector<Value> Add() {
    std::vector<Value> inputs = {Transposed(ValueOf(projection_.x), {1, 0, 2}, "X"),
                                 Weights(ValueOf(projection_.kernel), "W"),
                                 Weights(RecurrentWeights(), "R"),
                                 Biases(),
                                 Value{},  // sequence_lens: every sequence has T steps
                                 State(r_.h0, "initial_h"),
                                 State(r_.c0, "initial_c")};
    while (!inputs.back().valid()) inputs.pop_back();
    const Value y = g_.Add(cell_.op, inputs, Attributes());
    const Value in_time = Transposed(g_.Add("Squeeze", {y, g_.Int64s({1}, "direction")}), {1, 0, 2},
                                     "states_in_time");
    std::vector<Value> results(call_.results.size());
    results[r_.h] = Backwards() ? OnnxReversed(g_, in_time, 1) : in_time;
    for (const Node* reader : ReadersOf(call_.model, {call_.node.id, r_.h})) {
      if (Backwards() && IsReverse(*reader) && reader->attrs.Int("axis") == 1)
        call_.exported[reader->id] = {in_time};
    }
    GiveLast(r_.h, {y.node, 1});
    if (r_.c >= 0) GiveLast(r_.c, {y.node, 2});
    return results;
  }

 private:
  bool Backwards() const { return call_.attrs.Get<bool>("go_backwards"); }
  int64_t gates() const { return std::ssize(cell_.gates); }
  int64_t columns() const { return gates() * r_.cell->units; }
  Value ValueOf(Value in_model) const { return call_.exported[in_model.node][in_model.result]; }

  Value Transposed(Value x, const std::vector<int64_t>& perm, const std::string& label) {
    return g_.Add("Transpose", {x}, {{"perm", perm}}, label);
  }

  // x (gates U, ...) with the gates in ONNX's order, reshaped to `dims`.
  Value InOrder(Value x, const std::vector<int64_t>& dims, const std::string& label) {
    if (!std::is_sorted(cell_.gates.begin(), cell_.gates.end())) {
      x = g_.Add("Reshape", {x, g_.Int64s({gates(), -1}, "gates")});
      x = g_.Add("Gather", {x, g_.Int64s(cell_.gates, "order")}, {{"axis", int64_t{0}}});
    }
    return g_.Add("Reshape", {x, g_.Int64s(dims, "shape")}, {}, label);
  }

  // Weights (rows, gates U) in ONNX's layout (1, gates U, rows).
  Value Weights(Value weights, const std::string& label) {
    return InOrder(Transposed(weights, {1, 0}, "Transpose"), {1, columns(), -1}, label);
  }

  Value RecurrentWeights() {
    std::vector<Value> weights;
    for (const int operand : r_.weights) weights.push_back(call_.inputs[operand]);
    return weights.size() == 1 ? weights[0] : g_.Add("Concat", weights, {{"axis", int64_t{1}}});
  }

  // The biases of x and of the state, (1, 2 gates U). Invalid if there are none.
  Value Biases() {
    const Value of_state = r_.bias < 0 ? Value{} : call_.inputs[r_.bias];
    if (!projection_.bias.valid() && !of_state.valid()) return {};
    const auto bias = [&](Value x, const std::string& label) {
      if (x.valid()) return InOrder(x, {1, columns()}, label);
      return g_.Constant(
          {.dims = {1, columns()}, .bytes = std::string(columns() * sizeof(float), 0)}, label);
    };
    const Value of_x = projection_.bias.valid() ? ValueOf(projection_.bias) : Value{};
    const std::vector<Value> both = {bias(of_x, "Wb"), bias(of_state, "Rb")};
    return g_.Add("Concat", both, {{"axis", int64_t{1}}}, "B");
  }

  // The initial state (1, N, U). Invalid: 0.
  Value State(int operand, const std::string& label) {
    if (operand < 0 || IsConstant(call_.model, call_.node.inputs[operand], 0)) return {};
    return g_.Add("Unsqueeze", {call_.inputs[operand], g_.Int64s({0}, "direction")}, {}, label);
  }

  ExportAttrs Attributes() const {
    ExportAttrs attrs = cell_.attrs;
    std::vector<std::string> activations;
    std::vector<float> alphas, betas;  // of the functions with parameters, in order
    for (const std::string& function : cell_.functions) {
      switch (FunctionOf(call_.attrs, function)) {
        case GateFunction::kLinear:
          activations.push_back("Affine");
          alphas.push_back(1);
          betas.push_back(0);
          break;
        case GateFunction::kRelu:
          activations.push_back("Relu");
          break;
        case GateFunction::kTanh:
          activations.push_back("Tanh");
          break;
        case GateFunction::kSigmoid:
          activations.push_back("Sigmoid");
          break;
        case GateFunction::kSoftplus:
          activations.push_back("Softplus");
          break;
        case GateFunction::kElu:
          activations.push_back("Elu");
          alphas.push_back(1);
          break;
      }
    }
    attrs["activations"] = activations;
    if (!alphas.empty()) attrs["activation_alpha"] = alphas;
    if (!betas.empty()) attrs["activation_beta"] = betas;
    attrs["hidden_size"] = r_.cell->units;
    attrs["direction"] = std::string(Backwards() ? "reverse" : "forward");
    return attrs;
  }

  // Gives the last state of ONNX's op, (1, N, U), to all readers of the last step.
  void GiveLast(int result, Value last) {
    for (const Node* reader : ReadersOf(call_.model, {call_.node.id, result})) {
      if (!IsLastStep(*reader, call_.node.shapes[result].dims)) continue;
      const Value of_rows = Transposed(last, {1, 0, 2}, "last_state");
      g_.NameResult(of_rows, reader->name);
      call_.exported[reader->id] = {of_rows};
    }
  }

  const Recurrence& r_;
  const OnnxCell& cell_;
  const Projection& projection_;
  ExportCall& call_;
  ExportGraph& g_;
};

}  // namespace

absl::StatusOr<std::vector<Value>> RecurrenceToOnnx(Recurrence (*of)(const OpCall& call),
                                                    const OnnxCell& cell, ExportCall& call) {
  const Recurrence r = of({.op = call.node.op,
                           .attrs = call.attrs,
                           .operands = call.operands,
                           .results = call.results});
  const std::optional<Projection> projection = ProjectionOf(call.model, call.node.inputs[0]);
  if (!projection.has_value() || r.mask >= 0 || (r.c >= 0 && !OnlyLastIsRead(call, r.c)))
    return std::vector<Value>{};
  return OnnxRecurrence(r, cell, *projection, call).Add();
}

}  // namespace tpurun
