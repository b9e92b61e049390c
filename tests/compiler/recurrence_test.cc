// Recurrent ops trained on the device, on one core and on eight: the same bits whatever the number
// of workers, near the interpreter's.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/base/cpu.h"
#include "runtime/compiler/compile.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "tests/compiler/evaluate_args.h"
#include "tests/compiler/run_on_device.h"

namespace tpurun {
namespace {

// lstm, gru of both kinds and simple_rnn one behind the other, and a step of gradient descent.
Graph TrainedStates(int replicas, int64_t units, Precision precision) {
  constexpr int64_t kRows = 5, kSteps = 4;
  GraphBuilder b(Graph("states", replicas));
  Value x = b.AddInfeed("x", Shape{DType::kF32, {kRows, kSteps, units}});
  const Value state = Constant(b, DType::kF32, {kRows, units}, 0.25);
  std::vector<int> variables;
  const auto variable = [&](const std::string& name, int64_t columns) {
    variables.push_back(
        b.AddVariable({.name = name, .shape = {DType::kF32, {units, columns}}, .trainable = true}));
    return b.Read(variables.back());
  };
  const auto gates = [&](const std::string& name, int64_t count) {
    const Value rows = Reshape(b, x, {kRows * kSteps, units});
    const Value y = MatMul(b, rows, variable(name + "/kernel", count * units), precision);
    return Reshape(b, y, {kRows, kSteps, count * units});
  };
  const auto weights = [&](const std::string& name, int64_t count) {
    return variable(name + "/recurrent_kernel", count * units);
  };
  const RecurrentArgs args = {.precision = precision};
  RecurrentArgs back = args;
  back.go_backwards = true;
  x = Lstm(b, gates("lstm", 4), weights("lstm", 4), state, state, {}, args).h;
  x = GruResettingAfter(b, gates("after", 3), weights("after", 3), {}, state, {}, back);
  x = GruResettingBefore(b, gates("before", 3), weights("before", 3), state, {}, args);
  x = SimpleRnn(b, gates("simple", 1), weights("simple", 1), state, {}, args);
  const Value loss = ReduceSum(b, Square(b, x));
  b.AddOutput("loss", loss);
  std::vector<Value> reads;
  for (const int index : variables) reads.push_back(b.Read(index));
  const auto gradients = Gradients(b, loss, reads);
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  for (size_t i = 0; gradients.ok() && i < reads.size(); ++i) {
    const Value sum = CrossReplicaSum(b, (*gradients)[i]);
    b.Update(variables[i], Sub(b, reads[i], Mul(b, sum, Scalar(b, 0.01))));
  }
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

void ExpectNear(const Literal& got, const Literal& want, double tolerance,
                const std::string& place) {
  ASSERT_EQ(got.shape(), want.shape()) << place;
  for (int64_t i = 0; i < want.shape().num_elements(); ++i) {
    ASSERT_NEAR(got.values<float>()[i], want.values<float>()[i],
                tolerance * std::max(1.0f, std::abs(want.values<float>()[i])))
        << place << " element " << i;
  }
}

// Of 5 units the products are the interpreter's, of 32 the library's, on weights that `pack` packs.
TEST(RecurrenceOnDevice, TrainsToTheSameBitsOnAnyNumberOfWorkers) {
  const ScopedFlushDenormals flush;
  for (const int replicas : {1, 8}) {
    for (const int64_t units : {5, 32}) {
      for (const Precision precision : {Precision::kF32, Precision::kDefault}) {
        const Graph graph = TrainedStates(replicas, units, precision);
        const std::string place = absl::StrCat(replicas, " cores, ", units, " units, precision ",
                                               static_cast<int>(precision), ": ");
        const auto program = Compile(graph, {.ops = OpsOfPasses(), .loss_output = "loss"});
        ASSERT_TRUE(program.ok()) << place << program.status();
        const EvaluateArgs args = FilledArgs(graph, [next = 0](const Shape& shape) mutable {
          Literal literal(shape);
          for (float& value : literal.values<float>())
            value = static_cast<float>(++next * 37 % 101) / 256 - 0.19f;
          return literal;
        });
        const auto want = Evaluate(graph, args);
        ASSERT_TRUE(want.ok()) << place << want.status();
        Device one(1);
        const AfterSteps alone = RunOnDevice(&one, *program, args, 1);
        // At the TPU's precision a value next to the middle of two may be rounded either way.
        const double tolerance = precision == Precision::kF32 ? 1e-5 : 1e-3;
        for (const auto& [name, values] : want->variables)
          ExpectNear(alone.variables.at(name)[0], values[0], tolerance, place + name);
        const AfterSteps three_steps = RunOnDevice(&one, *program, args, 3);
        for (const int workers : {2, 3, 8}) {
          Device device(workers);
          EXPECT_EQ(RunOnDevice(&device, *program, args, 3).variables, three_steps.variables)
              << place << workers << " workers";
        }
      }
    }
  }
}

}  // namespace
}  // namespace tpurun
