// Long short-term memory (Hochreiter, Schmidhuber 1997; Gers et al. 2000) as in Keras' LSTM: N
// rows, T steps, U units, gates i, f, g, o of U each.
#include <algorithm>
#include <utility>

#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ops/export_recurrence.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/recurrence.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

const std::vector<std::string>& LstmFunctions() {
  static const std::vector<std::string>& names =
      *new std::vector<std::string>{"activation", "recurrent_activation"};
  return names;
}

// c = f c + i g.
TPURUN_CLONES void NextMemory(const float* gates, int64_t units, float* c) {
  const float *in = gates, *forget = gates + units, *candidate = gates + 2 * units;
#pragma GCC ivdep
  for (int64_t u = 0; u < units; ++u) c[u] = forget[u] * c[u] + in[u] * candidate[u];
}

// Computes the gradients of the gates' values from `dc`, the whole gradient of c, and replaces `dc`
// by the gradient of the previous c.
TPURUN_CLONES void MemoryGradient(const float* gates, const float* c_before, int64_t units,
                                  float* dc, float* dgates) {
  const float *in = gates, *forget = gates + units, *candidate = gates + 2 * units;
  float *din = dgates, *dforget = dgates + units, *dcandidate = dgates + 2 * units;
#pragma GCC ivdep
  for (int64_t u = 0; u < units; ++u) {
    const float d = dc[u];
    din[u] = d * candidate[u];
    dforget[u] = d * c_before[u];
    dcandidate[u] = d * in[u];
    dc[u] = d * forget[u];
  }
}

// The loops below read so many units of the next row ahead of time between their own.
constexpr int64_t kUnitsAhead = 64;
constexpr int64_t kFloatsOfLine = 16;  // of a cache line

// Has the processor read the units [begin, end) of each of `gates` arrays, `units` floats apart.
[[gnu::always_inline]] inline void ReadAhead(const float* from, int64_t begin, int64_t end,
                                             int64_t units, int gates) {
  for (int gate = 0; gate < gates; ++gate) {
    for (int64_t u = begin; u < end; u += kFloatsOfLine)
      __builtin_prefetch(from + gate * units + u);
  }
}

// A step whose functions are tanh and sigmoid: LstmCell::Step in one loop, with the same bits. Its
// gates would go through the first-level cache nine times (lstm_bench on a Zen 4: 76, now 72 ms of
// worker time a step). A row of 512 units takes 1.16 us, with its memory read ahead 0.82 (Zen 5).
TPURUN_CLONES void TanhSigmoidStep(const CellStep& row, int64_t units) {
  const float *x = row.x, *products = row.products;
  float *gates = row.kept, *c = row.c, *h = row.h;
  for (int64_t begin = 0; begin < units; begin += kUnitsAhead) {
    const int64_t end = std::min(begin + kUnitsAhead, units);
    ReadAhead(row.x_ahead, begin, end, units, 4);
    ReadAhead(row.kept_ahead, begin, end, units, 4);
#pragma GCC ivdep
    for (int64_t u = begin; u < end; ++u) {
      const int64_t f = units + u, g = 2 * units + u, o = 3 * units + u;
      const float in = SigmoidOf(x[u] + products[u]);
      const float forget = SigmoidOf(x[f] + products[f]);
      const float candidate = TanhOf(x[g] + products[g]);
      const float out = SigmoidOf(x[o] + products[o]);
      gates[u] = in;
      gates[f] = forget;
      gates[g] = candidate;
      gates[o] = out;
      const float next = forget * c[u] + in * candidate;
      c[u] = next;
      h[u] = out * TanhOf(next);
    }
  }
}

// LstmCell::StepGrad in one loop, with the same bits.
TPURUN_CLONES void TanhSigmoidStepGrad(const CellGradStep& row, int64_t units) {
  const float *gates = row.kept, *c_before = row.c_before, *c = row.c;
  float *dh = row.dh, *dc = row.dc, *dx = row.dx;
  for (int64_t begin = 0; begin < units; begin += kUnitsAhead) {
    const int64_t end = std::min(begin + kUnitsAhead, units);
    ReadAhead(row.kept_ahead, begin, end, units, 4);
    ReadAhead(row.c_ahead, begin, end, units, 1);
    ReadAhead(row.dh_ahead, begin, end, units, 1);
#pragma GCC ivdep
    for (int64_t u = begin; u < end; ++u) {
      const int64_t f = units + u, g = 2 * units + u, o = 3 * units + u;
      const float in = gates[u], forget = gates[f], candidate = gates[g], out = gates[o];
      const float activated = TanhOf(c[u]);
      const float d = dc[u] + dh[u] * out * (1.0f - activated * activated);
      dx[u] = d * candidate * (in * (1.0f - in));
      dx[f] = d * c_before[u] * (forget * (1.0f - forget));
      dx[g] = d * in * (1.0f - candidate * candidate);
      dx[o] = dh[u] * activated * (out * (1.0f - out));
      dc[u] = d * forget;
      dh[u] = 0.0f;
    }
  }
}

// i, f, o = s(x + h R), g = a(x + h R), c' = f c + i g, h' = o a(c').
class LstmCell : public RecurrentCell {
 public:
  LstmCell(int64_t units, const Attrs& attrs)
      : RecurrentCell(units, {4}, 4, {.flops = 8, .transcendentals = 5},
                      {.flops = 22, .transcendentals = 1}),
        activation_(FunctionOf(attrs, "activation")),
        recurrent_(FunctionOf(attrs, "recurrent_activation")) {}

  void Step(int, const CellStep& row) const override {
    float* const gates = row.kept;
    AddArrays(row.x, row.products, 4 * units, gates);
    ApplyGate(recurrent_, gates, 2 * units, gates);
    ApplyGate(activation_, gates + 2 * units, units, gates + 2 * units);
    ApplyGate(recurrent_, gates + 3 * units, units, gates + 3 * units);
    NextMemory(gates, units, row.c);
    ApplyGate(activation_, row.c, units, row.spare);
    MultiplyArrays(gates + 3 * units, row.spare, units, row.h);
  }

  void StepGrad(int, const CellGradStep& row) const override {
    const float* const out = row.kept + 3 * units;
    float* const activated = row.spare;
    float* const of_memory = row.spare + units;
    ApplyGate(activation_, row.c, units, activated);
    MultiplyArrays(row.dh, activated, units, row.dx + 3 * units);
    MultiplyArrays(row.dh, out, units, of_memory);
    MultiplyBySlope(activation_, activated, units, of_memory);
    AddArrays(row.dc, of_memory, units, row.dc);
    MemoryGradient(row.kept, row.c_before, units, row.dc, row.dx);
    MultiplyBySlope(recurrent_, row.kept, 2 * units, row.dx);
    MultiplyBySlope(activation_, row.kept + 2 * units, units, row.dx + 2 * units);
    MultiplyBySlope(recurrent_, out, units, row.dx + 3 * units);
    std::fill_n(row.dh, units, 0.0f);
  }

  void StepAsOps(StepInOps& step) const override {
    GraphBuilder& b = step.b;
    const Value gates = Add(b, step.x, step.Product(0, step.h));
    const Value in = step.Apply(recurrent_, step.Gates(gates, 0));
    const Value forget = step.Apply(recurrent_, step.Gates(gates, 1));
    const Value candidate = step.Apply(activation_, step.Gates(gates, 2));
    const Value out = step.Apply(recurrent_, step.Gates(gates, 3));
    step.c = Add(b, Mul(b, forget, step.c), Mul(b, in, candidate));
    step.h = Mul(b, out, step.Apply(activation_, step.c));
  }

 private:
  const GateFunction activation_, recurrent_;
};

// The same for the functions tanh and sigmoid.
class TanhSigmoidLstmCell final : public LstmCell {
 public:
  using LstmCell::LstmCell;
  static bool Computes(const Attrs& attrs) {
    return FunctionOf(attrs, "activation") == GateFunction::kTanh &&
           FunctionOf(attrs, "recurrent_activation") == GateFunction::kSigmoid;
  }
  void Step(int, const CellStep& row) const override { TanhSigmoidStep(row, units); }
  void StepGrad(int, const CellGradStep& row) const override { TanhSigmoidStepGrad(row, units); }
};

void SetCells(const OpCall& call, Recurrence& r) {
  const int64_t units = call.operands[2].dims[1];
  r.plain_cell = std::make_shared<LstmCell>(units, call.attrs);
  r.cell = r.plain_cell;
  if (TanhSigmoidLstmCell::Computes(call.attrs))
    r.cell = std::make_shared<TanhSigmoidLstmCell>(units, call.attrs);
}

// Operand 4, if given, is the mask. In lstm_grad, an optional operand with two dimensions is the
// mask, one with three dimensions is dc.
Recurrence LstmOf(const OpCall& call) {
  Recurrence r;
  SetCells(call, r);
  r.weights = {1};
  r.h0 = 2;
  r.c0 = 3;
  r.h = 0;
  r.c = 1;
  r.kept = 2;
  if (call.operands.size() > 4) r.mask = 4;
  return r;
}

Recurrence LstmGradOf(const OpCall& call) {
  Recurrence r;
  SetCells(call, r);
  r.is_gradient = true;
  r.weights = {1};
  r.c0 = 2;
  r.c = 3;
  r.kept = 4;
  for (size_t i = 5; i < call.operands.size(); ++i)
    (call.operands[i].rank() == 2 ? r.mask : r.dc) = static_cast<int>(i);
  r.dc0 = 2;
  r.sums = 3;
  return r;
}

struct LstmShapes {
  Shape weights, state, states, gates, sums, mask;
};

// From operand 0 (the gates or the gradient of h) and operand 2 (h0 or c0).
LstmShapes LstmShapesOf(const Shape& of_steps, const Shape& state) {
  const auto dim = [](const Shape& shape, int i) { return i < shape.rank() ? shape.dims[i] : 0; };
  const int64_t n = dim(of_steps, 0), t = dim(of_steps, 1), u = dim(state, 1);
  return {.weights = {DType::kF32, {u, 4 * u}},
          .state = {DType::kF32, {n, u}},
          .states = {DType::kF32, {n, t, u}},
          .gates = {DType::kF32, {n, t, 4 * u}},
          .sums = {DType::kF32, {n, 4 * u}},
          .mask = {DType::kF32, {n, t}}};
}

const OpDef& LstmGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "lstm_grad",
      .doc =
          "The gradient of lstm: dh (N, T, U) of h of every step, recurrent_kernel (U, 4U), c0 (N, "
          "U), and lstm's results c and gates; then, if there are any, its mask (N, T) and dc (N, "
          "T, U) of c of every step -> dx (N, T, 4U), dh0, dc0, and dx summed over time (N, 4U).",
      .min_operands = 5,
      .max_operands = 7,
      .attrs = RecurrenceAttrs(LstmFunctions()),
      .flags = {.unit = WorkUnit::kRows, .spans_replicas = true},
      .refine_flags = [](const OpCall& call,
                         OpFlags& flags) { RefineRecurrence(LstmGradOf(call), call, flags); },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const LstmShapes s = LstmShapesOf(operands[0], operands[2]);
        RETURN_IF_ERROR(CheckRecurrence(
            "lstm_grad",
            "f32 dh [N,T,U], recurrent kernel [U,4U], c0 [N,U], c [N,T,U], gates [N,T,4U] and "
            "perhaps a mask [N,T] and dc [N,T,U]",
            operands, attrs, LstmFunctions(), {s.states, s.weights, s.state, s.states, s.gates},
            {s.mask, s.states}));
        return std::vector<Shape>{s.gates, s.state, s.state, s.sums};
      },
      .reference = [](const OpCall& call) { return ReferenceRecurrence(LstmGradOf(call), call); },
      .kernels = RecurrenceKernels(LstmGradOf),
      .cost = [](const OpCall& call, Cost& cost) { RecurrenceCost(LstmGradOf(call), call, cost); },
      .tpu = [](const OpCall& call) { return RecurrenceOnTpu(LstmGradOf(call), call); },
      .rules = {.summed_result = 3}};
  return op;
}

std::vector<Value> LstmGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  const Shape h = node.shapes[0];
  const Value dh = dy[0].valid() ? dy[0] : Constant(b, DType::kF32, h.dims, 0);
  const Value h0 = node.inputs[2], c0 = node.inputs[3];
  std::vector<Value> operands = {dh, node.inputs[1], c0, {node.id, 1}, {node.id, 2}};
  if (node.inputs.size() > 4) operands.push_back(node.inputs[4]);
  if (dy[1].valid()) operands.push_back(dy[1]);
  const Value dx = b.Add(LstmGradOp(), operands, node.attrs);
  if (!dx.valid()) return std::vector<Value>(node.inputs.size());
  const Value left = StatesBefore(b, h0, {node.id, 0}, node.attrs);
  std::vector<Value> gradients = {
      dx, RecurrentKernelGradient(b, left, dx, node.attrs), {dx.node, 1}, {dx.node, 2}};
  gradients.resize(node.inputs.size());
  return gradients;
}

const OpDef& LstmOp() {
  static const OpDef& op = *new OpDef{
      .name = "lstm",
      .doc =
          "x (N, T, 4U), the input's share of gates i, f, g, o, recurrent_kernel R (U, 4U), h0 and "
          "c0 (N, U) and perhaps a mask (N, T) -> of every step h and c (N, T, U) and the gates "
          "(N, T, 4U), which the gradient reads: i, f, o = s(x + h R), g = a(x + h R), c' = f c + "
          "i g, h' = o a(c'), s being recurrent_activation, a activation. A step whose mask is "
          "below 0.5 keeps h and c. At precision 0 h and R are rounded to bf16 for their product. "
          "go_backwards reads x and mask from the end; results come in the order computed.",
      .min_operands = 4,
      .max_operands = 5,
      .attrs = RecurrenceAttrs(LstmFunctions()),
      .flags = {.unit = WorkUnit::kRows, .spans_replicas = true},
      .refine_flags = [](const OpCall& call,
                         OpFlags& flags) { RefineRecurrence(LstmOf(call), call, flags); },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const LstmShapes s = LstmShapesOf(operands[0], operands[2]);
        RETURN_IF_ERROR(CheckRecurrence(
            "lstm",
            "f32 x [N,T,4U], recurrent kernel [U,4U], h0 and c0 [N,U] and perhaps a mask [N,T]",
            operands, attrs, LstmFunctions(), {s.gates, s.weights, s.state, s.state}, {s.mask}));
        return std::vector<Shape>{s.states, s.states, s.gates};
      },
      .gradient = LstmGradient,
      .reference = [](const OpCall& call) { return ReferenceRecurrence(LstmOf(call), call); },
      .kernels = RecurrenceKernels(LstmOf),
      .cost = [](const OpCall& call, Cost& cost) { RecurrenceCost(LstmOf(call), call, cost); },
      .tpu = [](const OpCall& call) { return RecurrenceOnTpu(LstmOf(call), call); },
      .onnx =
          [](ExportCall& call) {
            return RecurrenceToOnnx(
                LstmOf,
                {.op = "LSTM",
                 .gates = {0, 3, 1, 2},  // order i, o, f, c
                 .functions = {"recurrent_activation", "activation", "activation"}},
                call);
          },
      .expand = [](GraphBuilder& b, const Node& node,
                   std::span<const Value> inputs) { return Unroll(LstmOf, b, node, inputs); }};
  return op;
}

}  // namespace

std::vector<const OpDef*> LstmOps() { return {&LstmOp(), &LstmGradOp()}; }

RecurrentStates Lstm(GraphBuilder& b, Value x, Value recurrent_kernel, Value h0, Value c0,
                     Value mask, const RecurrentArgs& args) {
  std::vector<Value> operands = {x, recurrent_kernel, h0, c0};
  if (mask.valid()) operands.push_back(mask);
  const Value h = b.Add(LstmOp(), std::move(operands), AttrsOf(args), "lstm");
  return {h, h.valid() ? Value{h.node, 1} : Value{}};
}

}  // namespace tpurun
