// Gated recurrent units as in Keras' GRU: N rows, T steps, U units, gates z, r, h of U each. With
// reset_after, r multiplies the product of the state with the candidate's weights (Keras, cuDNN).
// Otherwise r multiplies the state before a product of its own (Cho et al. 2014).
#include <algorithm>
#include <utility>

#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/export_recurrence.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/recurrence.h"

namespace tpurun {
namespace {

const std::vector<std::string>& GruFunctions() {
  static const std::vector<std::string>& names =
      *new std::vector<std::string>{"activation", "recurrent_activation"};
  return names;
}

// h = z h + (1 - z) candidate.
TPURUN_CLONES void MixStates(const float* z, const float* candidate, int64_t units, float* h) {
#pragma GCC ivdep
  for (int64_t u = 0; u < units; ++u) h[u] = z[u] * h[u] + (1.0f - z[u]) * candidate[u];
}

TPURUN_CLONES void MixGradient(const float* z, const float* candidate, const float* h_before,
                               const float* dh, int64_t units, float* dz, float* dcandidate) {
#pragma GCC ivdep
  for (int64_t u = 0; u < units; ++u) {
    dz[u] = dh[u] * (h_before[u] - candidate[u]);
    dcandidate[u] = dh[u] * (1.0f - z[u]);
  }
}

// The part that both cells share: z and r = s(x + h R), h' = z h + (1 - z) candidate.
class GruCell : public RecurrentCell {
 public:
  GruCell(int64_t units, std::vector<int64_t> gates, int64_t kept_gates, int backward_flops,
          const Attrs& attrs)
      : RecurrentCell(units, std::move(gates), kept_gates, {.flops = 8, .transcendentals = 3},
                      {.flops = backward_flops}),
        activation_(FunctionOf(attrs, "activation")),
        recurrent_(FunctionOf(attrs, "recurrent_activation")) {}

 protected:
  void StepGates(const CellStep& row) const {
    AddArrays(row.x, row.products, 2 * units, row.kept);
    ApplyGate(recurrent_, row.kept, 2 * units, row.kept);
  }

  // On entry, row.kept has the candidate before its activation function.
  void StepCandidate(const CellStep& row) const {
    float* const candidate = row.kept + 2 * units;
    ApplyGate(activation_, candidate, units, candidate);
    MixStates(row.kept, candidate, units, row.h);
  }

  // Computes the dx of z and of the candidate.
  void CandidateGrad(const CellGradStep& row) const {
    float* const dcandidate = row.dx + 2 * units;
    const float* const candidate = row.kept + 2 * units;
    MixGradient(row.kept, candidate, row.h_before, row.dh, units, row.dx, dcandidate);
    MultiplyBySlope(activation_, candidate, units, dcandidate);
    MultiplyArrays(row.dh, row.kept, units, row.dh);
  }

  // Computes the dx of z and r. On entry, row.dx does not have the slopes of their function yet.
  void GatesGrad(const CellGradStep& row) const {
    MultiplyBySlope(recurrent_, row.kept, 2 * units, row.dx);
    std::copy_n(row.dx, 2 * units, row.dproducts);
  }

  // z and r in one array. `product` is the product of h.
  Value GatesAsOps(StepInOps& step, Value product) const {
    const Value sum = Add(step.b, step.Gates(step.x, 0, 2), step.Gates(product, 0, 2));
    return step.Apply(recurrent_, sum);
  }

  // `of_state` is the state's share of the candidate, without x.
  void MixAsOps(StepInOps& step, Value gates, Value of_state) const {
    GraphBuilder& b = step.b;
    const Value z = step.Gates(gates, 0);
    const Value candidate = step.Apply(activation_, Add(b, step.Gates(step.x, 2), of_state));
    step.h = Add(b, Mul(b, z, step.h), Mul(b, Sub(b, Scalar(b, 1), z), candidate));
  }

  const GateFunction activation_, recurrent_;
};

// candidate = a(x + r q), q = h R. q is kept too, after the three gates.
class GruResetAfter final : public GruCell {
 public:
  GruResetAfter(int64_t units, const Attrs& attrs) : GruCell(units, {3}, 4, 16, attrs) {}

  void Step(int, const CellStep& row) const override {
    float *const candidate = row.kept + 2 * units, *const q = row.kept + 3 * units;
    StepGates(row);
    std::copy_n(row.products + 2 * units, units, q);
    MultiplyArrays(row.kept + units, q, units, candidate);
    AddArrays(candidate, row.x + 2 * units, units, candidate);
    StepCandidate(row);
  }

  void StepGrad(int, const CellGradStep& row) const override {
    const float* const r = row.kept + units;
    const float* const dcandidate = row.dx + 2 * units;
    CandidateGrad(row);
    MultiplyArrays(dcandidate, row.kept + 3 * units, units, row.dx + units);
    MultiplyArrays(dcandidate, r, units, row.dproducts + 2 * units);
    GatesGrad(row);
  }

  void StepAsOps(StepInOps& step) const override {
    const Value q = step.Product(0, step.h);
    const Value gates = GatesAsOps(step, q);
    MixAsOps(step, gates, Mul(step.b, step.Gates(gates, 1), step.Gates(q, 2)));
  }
};

// candidate = a(x + (r h) R).
class GruResetBefore final : public GruCell {
 public:
  GruResetBefore(int64_t units, const Attrs& attrs) : GruCell(units, {2, 1}, 3, 18, attrs) {}

  void Step(int product, const CellStep& row) const override {
    if (product == 0) {
      StepGates(row);
      MultiplyArrays(row.kept + units, row.h, units, row.left);
      return;
    }
    AddArrays(row.x + 2 * units, row.products, units, row.kept + 2 * units);
    StepCandidate(row);
  }

  void StepGrad(int product, const CellGradStep& row) const override {
    const float* const r = row.kept + units;
    if (product == 1) {
      CandidateGrad(row);
      std::copy_n(row.dx + 2 * units, units, row.dproducts);
      MultiplyArrays(r, row.h_before, units, row.left);
      return;
    }
    MultiplyArrays(row.dleft, row.h_before, units, row.dx + units);
    GatesGrad(row);
    MultiplyArrays(row.dleft, r, units, row.spare);
    AddArrays(row.dh, row.spare, units, row.dh);
  }

  void StepAsOps(StepInOps& step) const override {
    const Value gates = GatesAsOps(step, step.Product(0, step.h));
    const Value left = Mul(step.b, step.Gates(gates, 1), step.h);
    MixAsOps(step, gates, step.Product(1, left));
  }
};

bool ResetsAfter(const Attrs& attrs) { return attrs.Get<bool>("reset_after"); }

std::shared_ptr<const RecurrentCell> GruCellOf(int64_t units, const Attrs& attrs) {
  if (ResetsAfter(attrs)) return std::make_shared<GruResetAfter>(units, attrs);
  return std::make_shared<GruResetBefore>(units, attrs);
}

// Assigns the operands from `first` on: the candidate's weights unless reset_after, then the bias
// (rank 1), if given, then the mask (rank 2), if given.
void PlaceMore(const OpCall& call, int first, Recurrence& r) {
  int next = first;
  const int count = static_cast<int>(call.operands.size());
  if (!ResetsAfter(call.attrs)) r.weights.push_back(next++);
  if (next < count && call.operands[next].rank() == 1) r.bias = next++;
  if (next < count) r.mask = next;
}

Recurrence GruOf(const OpCall& call) {
  Recurrence r;
  r.cell = GruCellOf(call.operands[2].dims[1], call.attrs);
  r.weights = {1};
  r.h0 = 2;
  r.h = 0;
  r.kept = 1;
  PlaceMore(call, 3, r);
  return r;
}

Recurrence GruGradOf(const OpCall& call) {
  Recurrence r;
  r.cell = GruCellOf(call.operands[2].dims[1], call.attrs);
  r.is_gradient = true;
  r.weights = {1};
  r.h0 = 2;
  r.h = 3;
  r.kept = 4;
  PlaceMore(call, 5, r);
  (ResetsAfter(call.attrs) ? r.dproducts : r.left) = 2;
  r.sums = 3;
  return r;
}

struct GruShapes {
  Shape weights, state, states, gates, kept, sums, mask;
  std::vector<Shape> candidate;  // the candidate's weights, if they are an operand of their own
  Shape bias;
};

// From operand 0 (the gates or the gradient of h) and operand 2 (h0).
GruShapes GruShapesOf(const Shape& of_steps, const Shape& h0, const Attrs& attrs) {
  const auto dim = [](const Shape& shape, int i) { return i < shape.rank() ? shape.dims[i] : 0; };
  const int64_t n = dim(of_steps, 0), t = dim(of_steps, 1), u = dim(h0, 1);
  const bool after = ResetsAfter(attrs);
  GruShapes s = {.weights = {DType::kF32, {u, (after ? 3 : 2) * u}},
                 .state = {DType::kF32, {n, u}},
                 .states = {DType::kF32, {n, t, u}},
                 .gates = {DType::kF32, {n, t, 3 * u}},
                 .kept = {DType::kF32, {n, t, (after ? 4 : 3) * u}},
                 .sums = {DType::kF32, {n, 3 * u}},
                 .mask = {DType::kF32, {n, t}},
                 .bias = {DType::kF32, {3 * u}}};
  if (!after) s.candidate = {Shape{DType::kF32, {u, u}}};
  return s;
}

std::vector<AttrDef> GruAttrs() {
  std::vector<AttrDef> attrs = RecurrenceAttrs(GruFunctions());
  attrs.push_back({"reset_after", false});
  return attrs;
}

const OpDef& GruGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "gru_grad",
      .doc =
          "The gradient of gru: dh (N, T, U) of h of every step, recurrent_kernel, h0 (N, U), "
          "gru's results h and kept, and as gru the candidate's weights and a mask -> dx (N, T, "
          "3U), dh0; with reset_after the gradient of the product (N, T, 3U), else the r h (N, T, "
          "U) that was multiplied; dx summed over time (N, 3U).",
      .min_operands = 5,
      .max_operands = 7,
      .attrs = GruAttrs(),
      .flags = {.unit = WorkUnit::kRows, .spans_replicas = true},
      .refine_flags = [](const OpCall& call,
                         OpFlags& flags) { RefineRecurrence(GruGradOf(call), call, flags); },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const GruShapes s = GruShapesOf(operands[0], operands[2], attrs);
        std::vector<Shape> want = {s.states, s.weights, s.state, s.states, s.kept};
        want.insert(want.end(), s.candidate.begin(), s.candidate.end());
        RETURN_IF_ERROR(CheckRecurrence(
            "gru_grad",
            ResetsAfter(attrs)
                ? "f32 dh [N,T,U], recurrent kernel [U,3U], h0 [N,U], h [N,T,U], kept [N,T,4U] and "
                  "perhaps a mask [N,T]"
                : "f32 dh [N,T,U], recurrent kernel [U,2U], h0 [N,U], h [N,T,U], kept [N,T,3U], "
                  "the "
                  "candidate's [U,U] and perhaps a mask [N,T]",
            operands, attrs, GruFunctions(), want, {s.mask}));
        return std::vector<Shape>{s.gates, s.state, ResetsAfter(attrs) ? s.gates : s.states,
                                  s.sums};
      },
      .reference = [](const OpCall& call) { return ReferenceRecurrence(GruGradOf(call), call); },
      .kernels = RecurrenceKernels(GruGradOf),
      .cost = [](const OpCall& call, Cost& cost) { RecurrenceCost(GruGradOf(call), call, cost); },
      .tpu = [](const OpCall& call) { return RecurrenceOnTpu(GruGradOf(call), call); },
      .rules = {.summed_result = 3}};
  return op;
}

std::vector<Value> GruGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  const bool after = ResetsAfter(node.attrs);
  std::vector<Value> operands = {dy[0], node.inputs[1], node.inputs[2], {node.id, 0}, {node.id, 1}};
  int bias = -1;
  for (size_t i = 3; i < node.inputs.size(); ++i) {
    if (b.shape(node.inputs[i]).rank() == 1) {
      bias = static_cast<int>(i);
    } else {
      operands.push_back(node.inputs[i]);
    }
  }
  std::vector<Value> gradients(node.inputs.size());
  const Value dx = b.Add(GruGradOp(), operands, node.attrs);
  if (!dx.valid()) return gradients;
  const Value left = StatesBefore(b, node.inputs[2], {node.id, 0}, node.attrs);
  const Value third = {dx.node, 2};
  gradients[0] = dx;
  gradients[2] = {dx.node, 1};
  if (after) {
    gradients[1] = RecurrentKernelGradient(b, left, third, node.attrs);
    if (bias >= 0) gradients[bias] = SumOfRows(b, third, "BiasAddGrad");
    return gradients;
  }
  const std::vector<int64_t> dims = b.shape(left).dims;
  const int64_t n = dims[0], t = dims[1], u = dims[2];
  gradients[1] =
      RecurrentKernelGradient(b, left, Slice(b, dx, {0, 0, 0}, {n, t, 2 * u}), node.attrs);
  gradients[3] =
      RecurrentKernelGradient(b, third, Slice(b, dx, {0, 0, 2 * u}, {n, t, u}), node.attrs);
  return gradients;
}

const OpDef& GruOp() {
  static const OpDef& op = *new OpDef{
      .name = "gru",
      .doc =
          "x (N, T, 3U), the input's share of gates z, r, g, recurrent_kernel R and h0 (N, U) -> "
          "of "
          "every step h (N, T, U) and what the gradient reads: z, r = s(x + h R), h' = z h + (1 - "
          "z) g, s being recurrent_activation. With reset_after R is (U, 3U), behind h0 there may "
          "be a bias (3U), added to h R, and g = a(x + r (h R)), a being activation; else R is (U, "
          "2U), the operand behind h0 the candidate's (U, U), and g = a(x + (r h) R). Last there "
          "may be a mask (N, T); it, precision and go_backwards are as in lstm.",
      .min_operands = 3,
      .max_operands = 5,
      .attrs = GruAttrs(),
      .flags = {.unit = WorkUnit::kRows, .spans_replicas = true},
      .refine_flags = [](const OpCall& call,
                         OpFlags& flags) { RefineRecurrence(GruOf(call), call, flags); },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const GruShapes s = GruShapesOf(operands[0], operands[2], attrs);
        std::vector<Shape> want = {s.gates, s.weights, s.state}, more = {s.bias, s.mask};
        if (!ResetsAfter(attrs)) {
          want.push_back(s.candidate[0]);
          more = {s.mask};
        }
        RETURN_IF_ERROR(CheckRecurrence(
            "gru",
            ResetsAfter(attrs)
                ? "f32 x [N,T,3U], recurrent kernel [U,3U], h0 [N,U] and perhaps a bias [3U] and a "
                  "mask [N,T]"
                : "f32 x [N,T,3U], recurrent kernel [U,2U], h0 [N,U], the candidate's [U,U] and "
                  "perhaps a mask [N,T]",
            operands, attrs, GruFunctions(), want, more));
        return std::vector<Shape>{s.states, s.kept};
      },
      .gradient = GruGradient,
      .reference = [](const OpCall& call) { return ReferenceRecurrence(GruOf(call), call); },
      .kernels = RecurrenceKernels(GruOf),
      .cost = [](const OpCall& call, Cost& cost) { RecurrenceCost(GruOf(call), call, cost); },
      .tpu = [](const OpCall& call) { return RecurrenceOnTpu(GruOf(call), call); },
      .onnx =
          [](ExportCall& call) {
            return RecurrenceToOnnx(
                GruOf,
                {.op = "GRU",
                 .gates = {0, 1, 2},
                 .functions = {"recurrent_activation", "activation"},
                 .attrs = {{"linear_before_reset", int64_t{ResetsAfter(call.attrs)}}}},
                call);
          },
      .expand = [](GraphBuilder& b, const Node& node,
                   std::span<const Value> inputs) { return Unroll(GruOf, b, node, inputs); }};
  return op;
}

}  // namespace

std::vector<const OpDef*> GruOps() { return {&GruOp(), &GruGradOp()}; }

Value GruResettingAfter(GraphBuilder& b, Value x, Value recurrent_kernel, Value recurrent_bias,
                        Value h0, Value mask, const RecurrentArgs& args) {
  std::vector<Value> operands = {x, recurrent_kernel, h0};
  if (recurrent_bias.valid()) operands.push_back(recurrent_bias);
  if (mask.valid()) operands.push_back(mask);
  Attrs attrs = AttrsOf(args);
  attrs.Set("reset_after", true);
  return b.Add(GruOp(), std::move(operands), std::move(attrs), "gru");
}

Value GruResettingBefore(GraphBuilder& b, Value x, Value recurrent_kernel, Value h0, Value mask,
                         const RecurrentArgs& args) {
  if (!recurrent_kernel.valid()) return {};
  const int64_t units = b.shape(recurrent_kernel).dims[0];
  std::vector<Value> operands = {x, Slice(b, recurrent_kernel, {0, 0}, {units, 2 * units}), h0,
                                 Slice(b, recurrent_kernel, {0, 2 * units}, {units, units})};
  if (mask.valid()) operands.push_back(mask);
  return b.Add(GruOp(), std::move(operands), AttrsOf(args), "gru");
}

}  // namespace tpurun
