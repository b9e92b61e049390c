// Recurrent ops beside their formulas, which stand here as loops over double precision numbers, and
// their gradients beside differences of these formulas: f(x + d) - f(x - d) is 2 d f'(x) but for
// d^2. On every machine that this processor can stand for.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/ops/formula.h"

namespace tpurun {
namespace {

constexpr int64_t kRows = 3, kSteps = 4;
constexpr double kDelta = 1e-5;

using Vector = std::vector<double>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// x (T, W), h and c (U) of a row, and what all rows share.
struct RowInputs {
  int64_t units = 0;
  Vector x, h, c, mask;
  Vector weights, bias, candidate;
  bool backwards = false;
};

// Column `column` of left (U) times weights (U, columns).
double Product(const Vector& left, const Vector& weights, int64_t columns, int64_t column) {
  double sum = 0;
  for (size_t i = 0; i < left.size(); ++i) sum += left[i] * weights[i * columns + column];
  return sum;
}

void LstmStep(const RowInputs& row, const double* x, Vector* h, Vector* c) {
  const int64_t u = row.units;
  const Vector before = *h;
  for (int64_t i = 0; i < u; ++i) {
    const auto gate = [&](int64_t of) {
      return x[of * u + i] + Product(before, row.weights, 4 * u, of * u + i);
    };
    (*c)[i] = Sigmoid(gate(1)) * (*c)[i] + Sigmoid(gate(0)) * std::tanh(gate(2));
    (*h)[i] = Sigmoid(gate(3)) * std::tanh((*c)[i]);
  }
}

void GruStepResettingAfter(const RowInputs& row, const double* x, Vector* h, Vector*) {
  const int64_t u = row.units;
  const Vector before = *h;
  for (int64_t i = 0; i < u; ++i) {
    const auto product = [&](int64_t of) {
      return Product(before, row.weights, 3 * u, of * u + i) + row.bias[of * u + i];
    };
    const double z = Sigmoid(x[i] + product(0)), r = Sigmoid(x[u + i] + product(1));
    (*h)[i] = z * before[i] + (1 - z) * std::tanh(x[2 * u + i] + r * product(2));
  }
}

void GruStepResettingBefore(const RowInputs& row, const double* x, Vector* h, Vector*) {
  const int64_t u = row.units;
  const Vector before = *h;
  Vector reset(u);
  for (int64_t i = 0; i < u; ++i)
    reset[i] = before[i] * Sigmoid(x[u + i] + Product(before, row.weights, 2 * u, u + i));
  for (int64_t i = 0; i < u; ++i) {
    const double z = Sigmoid(x[i] + Product(before, row.weights, 2 * u, i));
    const double candidate = std::tanh(x[2 * u + i] + Product(reset, row.candidate, u, i));
    (*h)[i] = z * before[i] + (1 - z) * candidate;
  }
}

void SimpleStep(const RowInputs& row, const double* x, Vector* h, Vector*) {
  const Vector before = *h;
  for (int64_t i = 0; i < row.units; ++i)
    (*h)[i] = std::tanh(x[i] + Product(before, row.weights, row.units, i));
}

struct Kind {
  std::string op;
  int64_t gates = 1;  // of x
  void (*step)(const RowInputs& row, const double* x, Vector* h, Vector* c) = nullptr;
  bool has_c = false, reset_after = false, has_candidate = false;
};

const Kind kKinds[] = {
    {"lstm", 4, LstmStep, true},
    {"gru", 3, GruStepResettingAfter, false, true},
    {"gru", 3, GruStepResettingBefore, false, false, true},
    {"simple_rnn", 1, SimpleStep},
};

// h and c (T, U) of every step, in the order computed. A masked step keeps both.
std::pair<Vector, Vector> States(const Kind& kind, const RowInputs& row) {
  Vector h = row.h, c = row.c, all_h, all_c;
  const int64_t width = kind.gates * row.units;
  for (int64_t i = 0; i < kSteps; ++i) {
    const int64_t step = row.backwards ? kSteps - 1 - i : i;
    if (row.mask.empty() || row.mask[step] >= 0.5)
      kind.step(row, row.x.data() + step * width, &h, &c);
    all_h.insert(all_h.end(), h.begin(), h.end());
    all_c.insert(all_c.end(), c.begin(), c.end());
  }
  return {all_h, all_c};
}

Vector ToVector(const Literal& literal, int64_t begin, int64_t count) {
  const auto values = literal.values<float>().begin() + begin;
  return {values, values + count};
}
Vector ToVector(const Literal& literal) {
  return ToVector(literal, 0, literal.shape().num_elements());
}

// A call of an op of a kind and what its gradient is asked for.
struct Recurrent {
  Recurrent(const Kind& kind, int64_t units, bool masked, bool backwards)
      : kind(kind), units(units), backwards(backwards) {
    const double a = 1 / std::sqrt(static_cast<double>(units));
    const int64_t of_weights = kind.has_candidate ? 2 : kind.gates;
    operands = {Numbers({kRows, kSteps, kind.gates * units}, 41),
                Numbers({units, of_weights * units}, 42, -a, a), Numbers({kRows, units}, 43)};
    if (kind.has_c) operands.push_back(Numbers({kRows, units}, 44));
    if (kind.reset_after) operands.push_back(Numbers({3 * units}, 45));
    if (kind.has_candidate) operands.push_back(Numbers({units, units}, 46, -a, a));
    if (masked) {
      mask = operands.size();
      operands.push_back(Literal(F32({kRows, kSteps})));
      for (int64_t i = 0; i < kRows * kSteps; ++i)
        operands.back().values<float>()[i] = i % 3 == 1 ? 0.0f : 1.0f;
    }
    attrs = {{"precision", int64_t{3}}, {"activation", std::string("tanh")}};
    if (kind.op != "simple_rnn") attrs.Set("recurrent_activation", std::string("sigmoid"));
    if (kind.reset_after) attrs.Set("reset_after", true);
    if (backwards) attrs.Set("go_backwards", true);
    place =
        absl::StrCat(kind.op, attrs.ToString(), " of ", units, " units", masked ? ", masked" : "");
  }

  RowInputs Row(int64_t row) const {
    const int64_t width = kind.gates * units;
    RowInputs of = {.units = units,
                    .x = ToVector(operands[0], row * kSteps * width, kSteps * width),
                    .h = ToVector(operands[2], row * units, units),
                    .weights = ToVector(operands[1]),
                    .backwards = backwards};
    if (kind.has_c) of.c = ToVector(operands[3], row * units, units);
    if (kind.reset_after) of.bias = ToVector(operands[3]);
    if (kind.has_candidate) of.candidate = ToVector(operands[3]);
    if (mask > 0) of.mask = ToVector(operands[mask], row * kSteps, kSteps);
    return of;
  }

  // A sum of U products is rounded U times; a gate some more, and in each step again.
  double Error() const { return static_cast<double>((2 * units + 32) * kSteps) * kRounding; }

  const Kind& kind;
  const int64_t units;
  const bool backwards;
  size_t mask = 0;  // the operand; 0: there is none
  std::vector<Literal> operands;
  Attrs attrs;
  std::string place;
};

void Append(const Vector& values, double error, std::vector<Exact>* exact) {
  for (const double value : values) exact->push_back({value, error});
}

// Of the reference and of the kernel that each machine plans, in 1 and 3 parts. Results without
// expected numbers are not compared.
void ExpectOnEveryMachine(OpCall call, const std::vector<Literal>& operands,
                          const std::vector<std::vector<Exact>>& want, const std::string& place) {
  const auto compare = [&](const std::vector<Literal>& got, const std::string& by) {
    for (size_t i = 0; i < want.size(); ++i) {
      if (want[i].empty()) continue;
      ExpectNear(got[i], want[i],
                 absl::StrCat(place, " in ", call.parts, " parts ", by, " result ", i));
    }
  };
  for (const int parts : {1, 3}) {
    call.parts = parts;
    compare(RunReference(call, operands, SharesOf(call)), "by the reference");
    for (const Machine& machine : MachinesOfThisProcessor()) {
      const KernelPlan plan = PlanKernel(call, machine);
      compare(RunPlan(call, plan, operands), absl::StrCat(plan.name(), " ", machine.ToString()));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

void ForEachCase(const std::function<void(const Recurrent& of)>& check) {
  for (const Kind& kind : kKinds) {
    for (const int64_t units : {5, 16, 33}) {
      for (const bool masked : {false, true}) {
        check(Recurrent(kind, units, masked, /*backwards=*/units == 16));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(RecurrenceFormulas, OfEveryStep) {
  ForEachCase([](const Recurrent& of) {
    std::vector<Exact> all_h, all_c;
    for (int64_t row = 0; row < kRows; ++row) {
      const auto [h, c] = States(of.kind, of.Row(row));
      Append(h, of.Error(), &all_h);
      Append(c, of.Error(), &all_c);
    }
    std::vector<std::vector<Exact>> want = {all_h};
    if (of.kind.has_c) want.push_back(all_c);
    ExpectOnEveryMachine(CallOf(of.kind.op, of.attrs, of.operands), of.operands, want, of.place);
  });
}

// The sum of dh h and dc c over the steps of a row.
double Loss(const Kind& kind, const RowInputs& inputs, const Vector& dh, const Vector& dc) {
  const auto [h, c] = States(kind, inputs);
  double loss = 0;
  for (size_t i = 0; i < h.size(); ++i) loss += dh[i] * h[i];
  for (size_t i = 0; i < dc.size(); ++i) loss += dc[i] * c[i];
  return loss;
}

// The slope of the loss in each of `values`, a member of `inputs`.
Vector Slopes(const Kind& kind, RowInputs* inputs, Vector* values, const Vector& dh,
              const Vector& dc) {
  Vector slopes;
  for (double& value : *values) {
    const double at = value;
    value = at + kDelta;
    const double above = Loss(kind, *inputs, dh, dc);
    value = at - kDelta;
    slopes.push_back((above - Loss(kind, *inputs, dh, dc)) / (2 * kDelta));
    value = at;
  }
  return slopes;
}

TEST(RecurrenceFormulas, GradientsAreSlopes) {
  ForEachCase([](const Recurrent& of) {
    const Kind& kind = of.kind;
    const int64_t u = of.units, width = kind.gates * u;
    const Literal dh = Numbers({kRows, kSteps, u}, 47), dc = Numbers({kRows, kSteps, u}, 48);
    std::vector<Exact> dx, dh0, dc0, sums;
    // A gradient has the terms of all later steps.
    const double error = 8 * of.Error();
    for (int64_t row = 0; row < kRows; ++row) {
      RowInputs inputs = of.Row(row);
      const Vector of_h = ToVector(dh, row * kSteps * u, kSteps * u);
      Vector of_c;
      if (kind.has_c) of_c = ToVector(dc, row * kSteps * u, kSteps * u);
      const Vector slopes = Slopes(kind, &inputs, &inputs.x, of_h, of_c);
      Append(slopes, error, &dx);
      Append(Slopes(kind, &inputs, &inputs.h, of_h, of_c), error, &dh0);
      Append(Slopes(kind, &inputs, &inputs.c, of_h, of_c), error, &dc0);
      for (int64_t i = 0; i < width; ++i) {
        double sum = 0;
        for (int64_t step = 0; step < kSteps; ++step) sum += slopes[step * width + i];
        sums.push_back({sum, kSteps * error});
      }
    }
    // The gradient reads what the op has kept.
    const OpCall call = CallOf(kind.op, of.attrs, of.operands);
    const std::vector<Literal> results = RunReference(call, of.operands, SharesOf(call));
    // That of lstm needs no h: its slope at a step is one of c and the gates.
    const bool reads_h = !kind.has_c;
    std::vector<Literal> operands = {dh, of.operands[1], of.operands[reads_h ? 2 : 3]};
    operands.insert(operands.end(), results.begin() + (reads_h ? 0 : 1), results.end());
    if (kind.has_candidate) operands.push_back(of.operands[3]);
    if (of.mask > 0) operands.push_back(of.operands[of.mask]);
    if (kind.has_c) operands.push_back(dc);
    const OpCall gradient = CallOf(kind.op + "_grad", of.attrs, operands);
    std::vector<std::vector<Exact>> want(gradient.results.size());
    want[0] = dx;
    want[1] = dh0;
    if (kind.has_c) want[2] = dc0;
    want.back() = sums;
    ExpectOnEveryMachine(gradient, operands, want, of.place);
  });
}

}  // namespace
}  // namespace tpurun
