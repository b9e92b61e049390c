// The planned kernels of recurrent ops beside their references, which the golden files hold to
// TensorFlow's numbers: of sizes that the library multiplies, and of sizes that it does not.
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/random.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/ops/op_list.h"
#include "tests/ops/op_case.h"

namespace tpurun {
namespace {

Shape F32(std::vector<int64_t> dims) { return Shape{DType::kF32, std::move(dims)}; }

// Numbers in [-a, a), a keeping sums over the units about as large as one of them.
Literal RandomLiteral(const Shape& shape, uint32_t stream) {
  Literal literal(shape);
  const float a = shape.rank() == 2 ? 1 / std::sqrt(static_cast<float>(shape.dims[0])) : 1.0f;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    literal.values<float>()[i] = (UniformFloat(PhiloxElement(3, stream, 0, 0, i)) * 2 - 1) * a;
  return literal;
}

// Every third step of every row.
Literal MaskOf(const Shape& shape) {
  Literal literal(shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    literal.values<float>()[i] = i % 3 == 1 ? 0.0f : 1.0f;
  return literal;
}

struct Case {
  std::string op;
  std::vector<Shape> operands;
  bool reset_after = false;
};

// More units than the loops of an LSTM compute at a time.
constexpr int64_t kManyUnits = 70;

// Of all recurrent ops and their gradients; the last operand is a mask, or once dc.
std::vector<Case> CasesOf(int64_t n, int64_t t, int64_t u) {
  const Shape state = F32({n, u}), states = F32({n, t, u}), mask = F32({n, t});
  const auto gates = [&](int64_t count) { return F32({n, t, count * u}); };
  const auto weights = [&](int64_t count) { return F32({u, count * u}); };
  return {
      {"lstm", {gates(4), weights(4), state, state, mask}},
      {"lstm_grad", {states, weights(4), state, states, gates(4), mask}},
      {"lstm_grad", {states, weights(4), state, states, gates(4), states}},
      {"gru", {gates(3), weights(3), state, F32({3 * u}), mask}, true},
      {"gru_grad", {states, weights(3), state, states, gates(4), mask}, true},
      {"gru", {gates(3), weights(2), state, weights(1), mask}},
      {"gru_grad", {states, weights(2), state, states, gates(3), weights(1), mask}},
      {"simple_rnn", {states, weights(1), state, mask}},
      {"simple_rnn_grad", {states, weights(1), state, states, mask}},
  };
}

OpCall CallOf(const Case& c, int64_t precision) {
  OpCall call{.op = FindOpByName(c.op),
              .attrs = {{"precision", precision}, {"activation", std::string("tanh")}},
              .operands = c.operands};
  if (c.op.find("simple") == std::string::npos)
    call.attrs.Set("recurrent_activation", std::string("sigmoid"));
  if (c.reset_after) call.attrs.Set("reset_after", true);
  const auto results = InferShapes(*call.op, call.operands, call.attrs);
  EXPECT_TRUE(results.ok()) << results.status();
  call.results = *results;
  call.needed.assign(call.results.size(), true);
  return call;
}

std::vector<Literal> OperandsOf(const OpCall& call) {
  std::vector<Literal> operands;
  for (size_t i = 0; i + 1 < call.operands.size(); ++i)
    operands.push_back(RandomLiteral(call.operands[i], static_cast<uint32_t>(i)));
  operands.push_back(MaskOf(call.operands.back()));
  return operands;
}

// Worker i % 2 takes part i. Results that are not needed stay as they are.
std::vector<Literal> RunPlanned(const OpCall& call, const std::vector<Literal>& operands) {
  const KernelPlan plan = PlanKernel(call, Machine::This());
  const std::unique_ptr<Kernel> kernel = MakeKernel(call, plan);
  EXPECT_NE(kernel, nullptr);
  kernel->SetWorkers(2);
  std::vector<Literal> results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Shape& shape : call.results) {
    results.emplace_back(shape);
    std::memset(results.back().data(), 0xa5, shape.bytes());
  }
  for (const Literal& operand : operands) in.push_back(operand.data());
  for (size_t i = 0; i < results.size(); ++i)
    out.push_back(call.needed[i] ? results[i].data() : nullptr);
  constexpr int64_t kBehind = 1 << 16;
  Literal scratch(Shape{DType::kU8, {plan.scratch_bytes + kBehind}});
  std::memset(scratch.data(), 0x5a, scratch.shape().bytes());
  for (int part = 0; part < call.parts; ++part) {
    const absl::Status status = kernel->Run({.operands = in.data(),
                                             .results = out.data(),
                                             .scratch = scratch.data(),
                                             .worker = part % 2,
                                             .begin = BeginOfPart(call, part),
                                             .end = BeginOfPart(call, part + 1)});
    EXPECT_TRUE(status.ok()) << status;
  }
  for (int64_t i = 0; i < kBehind; ++i) {
    if (scratch.data()[plan.scratch_bytes + i] == std::byte{0x5a}) continue;
    ADD_FAILURE() << call.op->name << " writes " << i << " bytes behind its scratch memory";
    break;
  }
  return results;
}

// Two orders of a sum of U products differ by U 2^-24 of it, times the steps that it goes through;
// at precision 0 a state that is rounded to the other side is 2^-8 of itself away.
void ExpectNear(const Literal& got, const Literal& want, double tolerance,
                const std::string& place) {
  double largest = 0;
  for (const float value : want.values<float>())
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  for (int64_t i = 0; i < want.shape().num_elements(); ++i) {
    ASSERT_NEAR(got.values<float>()[i], want.values<float>()[i], tolerance * largest)
        << place << " element " << i;
  }
}

TEST(Recurrence, PlannedKernelsAreNearTheReference) {
  for (const int64_t units : {int64_t{5}, kManyUnits}) {
    for (const int64_t precision : {0, 1, 3}) {
      for (const Case& c : CasesOf(13, 4, units)) {
        OpCall call = CallOf(c, precision);
        const std::vector<Literal> operands = OperandsOf(call);
        const std::vector<Literal> want = RunReference(call, operands, {{0, Units(call)}});
        for (const int parts : {1, 3, 8}) {
          call.parts = parts;
          const std::vector<Literal> got = RunPlanned(call, operands);
          for (size_t i = 0; i < got.size(); ++i) {
            ExpectNear(got[i], want[i], precision == 0 ? 4e-3 : 1e-5,
                       absl::StrCat(c.op, call.attrs.ToString(), " of ", units, " units in ", parts,
                                    " parts, result ", i));
          }
        }
      }
    }
  }
}

TEST(Recurrence, AShareOfTheRowsHasTheBitsOfTheWhole) {
  for (const auto& [units, precision] :
       {std::pair<int64_t, int64_t>(5, 0), {5, 3}, {kManyUnits, 0}, {kManyUnits, 3}}) {
    for (const Case& c : CasesOf(13, 4, units)) {
      OpCall call = CallOf(c, precision);
      const std::vector<Literal> operands = OperandsOf(call);
      const std::vector<Literal> want = RunPlanned(call, operands);
      for (const int parts : {2, 3, 8, 13}) {
        call.parts = parts;
        EXPECT_EQ(RunPlanned(call, operands), want)
            << c.op << call.attrs.ToString() << " of " << units << " units in " << parts;
      }
    }
  }
}

TEST(Recurrence, OperandsStoredInBF16GiveTheBitsOfTheirNumbers) {
  for (const int64_t precision : {0, 3}) {
    for (const Case& c : CasesOf(13, 4, kManyUnits)) {
      OpCall call = CallOf(c, precision);
      std::vector<Literal> numbers = OperandsOf(call), stored;
      OpCall of_bf16 = call;
      for (Literal& literal : numbers) {
        of_bf16.operands[stored.size()].dtype = DType::kBF16;
        stored.push_back(StoredIn(DType::kBF16, literal));
        literal = StoredIn(DType::kF32, stored.back());
      }
      EXPECT_EQ(RunPlanned(of_bf16, stored), RunPlanned(call, numbers))
          << c.op << call.attrs.ToString();
    }
  }
}

TEST(Recurrence, WeightsThatComePackedGiveTheSameBits) {
  int packed = 0;
  for (const int64_t precision : {0, 3}) {
    for (const Case& c : CasesOf(13, 4, kManyUnits)) {
      OpCall call = CallOf(c, precision);
      std::vector<Literal> operands = OperandsOf(call);
      const std::vector<Literal> want = RunPlanned(call, operands);
      const KernelPlan plan = PlanKernel(call, Machine::This());
      for (size_t i = 0; i < plan.best_operands.size(); ++i) {
        const Shape& best = plan.best_operands[i];
        if (best == call.operands[i]) continue;
        const OpCall pack{.op = FindOpByName("pack"),
                          .attrs = PackAttrs(best),
                          .operands = {call.operands[i]},
                          .results = {best},
                          .needed = {true}};
        operands[i] = RunReference(pack, {operands[i]}, {{0, Units(pack)}})[0];
        call.operands[i] = best;
        ++packed;
      }
      EXPECT_EQ(RunPlanned(call, operands), want) << c.op << call.attrs.ToString();
    }
  }
  EXPECT_TRUE(packed > 0 || !Machine::This().avx2);
}

TEST(Recurrence, ResultsThatNobodyReadsAreLeftOut) {
  for (const Case& c : CasesOf(3, 4, 5)) {
    OpCall call = CallOf(c, 3);
    const std::vector<Literal> operands = OperandsOf(call);
    const std::vector<Literal> want = RunPlanned(call, operands);
    for (size_t i = 1; i < call.needed.size(); ++i) call.needed[i] = false;
    EXPECT_EQ(RunPlanned(call, operands)[0], want[0]) << c.op;
  }
}

}  // namespace
}  // namespace tpurun
