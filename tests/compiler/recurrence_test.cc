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
#include "runtime/program/combine_parts.h"
#include "runtime/program/span_replicas.h"
#include "runtime/program/verify_program.h"
#include "tests/compiler/evaluate_args.h"
#include "tests/compiler/run_on_device.h"

namespace tpurun {
namespace {

// lstm, gru of both kinds and simple_rnn one behind the other, and a step of gradient descent.
Graph TrainedStates(int replicas, int64_t num_rows, int64_t units, Precision precision) {
  constexpr int64_t kSteps = 4;
  GraphBuilder b(Graph("states", replicas));
  Value x = b.AddInfeed("x", Shape{DType::kF32, {num_rows, kSteps, units}});
  const Value state = Constant(b, DType::kF32, {num_rows, units}, 0.25);
  std::vector<int> variables;
  const auto variable = [&](const std::string& name, const std::vector<int64_t>& dims) {
    variables.push_back(
        b.AddVariable({.name = name, .shape = {DType::kF32, dims}, .trainable = true}));
    return b.Read(variables.back());
  };
  const auto gates = [&](const std::string& name, int64_t count) {
    const Value rows = Reshape(b, x, {num_rows * kSteps, units});
    const Value y = MatMul(b, rows, variable(name + "/kernel", {units, count * units}), precision);
    const Value with_bias = BiasAdd(b, y, variable(name + "/bias", {count * units}));
    return Reshape(b, with_bias, {num_rows, kSteps, count * units});
  };
  const auto weights = [&](const std::string& name, int64_t count) {
    return variable(name + "/recurrent_kernel", {units, count * units});
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

Literal Filled(const Shape& shape, int* next) {
  Literal literal(shape);
  for (float& value : literal.values<float>())
    value = static_cast<float>(++*next * 37 % 101) / 256 - 0.19f;
  return literal;
}

EvaluateArgs Filled(const Graph& graph) {
  return FilledArgs(graph, [next = 0](const Shape& shape) mutable { return Filled(shape, &next); });
}

// The most replicas of which one call computes the rows.
int MostReplicasPerCall(const CoreProgram& program) {
  int most = 1;
  for (const Phase& phase : program.step) most = std::max(most, phase.replicas_per_call());
  return most;
}

// As compiled, and with larger calls for few workers. Weights of 32 units are packed, of 5 they are
// not. The 5 rows of a core are computed with another's, 9 are not.
TEST(RecurrenceOnDevice, TrainsToTheSameBitsOnAnyNumberOfWorkers) {
  const ScopedFlushDenormals flush;
  for (const auto& [replicas, num_rows] : {std::pair(1, 5), std::pair(8, 5), std::pair(8, 9)}) {
    for (const int64_t units : {5, 32}) {
      for (const Precision precision : {Precision::kF32, Precision::kDefault}) {
        const Graph graph = TrainedStates(replicas, num_rows, units, precision);
        const std::string place =
            absl::StrCat(replicas, " cores, ", num_rows, " rows, ", units, " units, precision ",
                         static_cast<int>(precision), ": ");
        const auto program = Compile(graph, {.ops = OpsOfPasses(), .loss_output = "loss"});
        ASSERT_TRUE(program.ok()) << place << program.status();
        EXPECT_EQ(MostReplicasPerCall(*program), replicas == 8 && num_rows == 5 ? 2 : 1) << place;
        const EvaluateArgs args = Filled(graph);
        const auto want = Evaluate(graph, args);
        ASSERT_TRUE(want.ok()) << place << want.status();
        const auto one = Device::Create(1);
        const AfterSteps alone = RunOnDevice(one.get(), *program, args, 1);
        // At the TPU's precision a value next to the middle of two may be rounded either way.
        const double tolerance = precision == Precision::kF32 ? 1e-5 : 1e-3;
        for (const auto& [name, values] : want->variables)
          ExpectNear(alone.variables.at(name)[0], values[0], tolerance, place + name);
        const AfterSteps three_steps = RunOnDevice(one.get(), *program, args, 3);
        for (const int workers : {1, 2, 3, 4, 5, 8, 9}) {
          const auto device = Device::Create(workers);
          CoreProgram larger = *program;
          CombineParts(workers, larger);
          SpanReplicas(workers, larger, /*cached_bytes=*/0);
          EXPECT_TRUE(VerifyProgram(larger).ok()) << VerifyProgram(larger);
          // No call has more than 64 rows.
          if (replicas == 8 && workers < 3) {
            EXPECT_EQ(MostReplicasPerCall(larger), num_rows == 5 && workers == 1 ? 8 : 4) << place;
          }
          for (const CoreProgram* run : {&*program, &std::as_const(larger)}) {
            EXPECT_EQ(RunOnDevice(device.get(), *run, args, 3).variables, three_steps.variables)
                << place << workers << " workers" << (run == &larger ? ", larger calls" : "");
          }
        }
      }
    }
  }
}

// Gives x (N, T, C) again, but for an error on the replica whose first element is above 100.
const OpDef& FailingOp() {
  static const OpDef& op =
      *new OpDef{.name = "failing",
                 .min_operands = 1,
                 .max_operands = 1,
                 .infer_shape = [](std::span<const Shape> operands,
                                   const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
                   return std::vector<Shape>{operands[0]};
                 },
                 .reference = [](const OpCall& call) -> std::unique_ptr<Kernel> {
                   class Failing final : public Kernel {
                    public:
                     explicit Failing(int64_t bytes) : bytes_(bytes) {}
                     absl::Status Run(const KernelArgs& args) const override {
                       if (*static_cast<const float*>(args.operands[0]) > 100)
                         return absl::InternalError("above 100");
                       std::memcpy(args.results[0], args.operands[0], bytes_);
                       return absl::OkStatus();
                     }

                    private:
                     const int64_t bytes_;
                   };
                   return std::make_unique<Failing>(call.results[0].bytes());
                 }};
  return op;
}

// Those who meet for what is joined do not wait for one who has failed.
TEST(RecurrenceOnDevice, AnErrorOfOneCoreEndsTheRunOnAnyNumberOfWorkers) {
  constexpr int64_t kRows = 2, kSteps = 3, kUnits = 4;
  GraphBuilder b(Graph("failing", 8));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {kRows, kSteps, kUnits}});
  const Value state = Constant(b, DType::kF32, {kRows, kUnits}, 0.25);
  const int weights =
      b.AddVariable({.name = "w", .shape = {DType::kF32, {kUnits, kUnits}}, .trainable = true});
  const Value y = SimpleRnn(b, b.Add(FailingOp(), {x}, {}, "failing"), b.Read(weights), state, {},
                            {.precision = Precision::kF32});
  b.AddOutput("y", b.Add(FailingOp(), {y}, {}, "again"));
  ASSERT_TRUE(b.status().ok()) << b.status();
  const Graph graph = b.Take();
  const auto program = Compile(graph, {.ops = OpsOfPasses()});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(MostReplicasPerCall(*program), 2);
  const SlotLayout in = LayoutOf(program->infeed, 8);
  int next = 0;
  Literal variable = Filled(program->variables[0].shape, &next);
  for (const int workers : {1, 2, 4, 8}) {
    for (const int failing : {0, 5, 7}) {
      const auto device = Device::Create(workers);
      auto loaded = device->Load(*program, {variable.data()});
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      EntryRing infeed(in.bytes, 1, 1), outfeed(OutfeedEntryBytes(*program), 1, 1);
      std::byte* const entry = *infeed.Reserve();
      std::memset(entry, 0, in.bytes);
      const float bad = 101;
      std::memcpy(entry + in.offsets[0] + failing * in.replica_bytes[0], &bad, sizeof(bad));
      infeed.Commit();
      const RunResult result =
          device->Run(**loaded, {.iterations = 1, .infeed = &infeed, .outfeed = &outfeed});
      EXPECT_EQ(result.status.code(), absl::StatusCode::kInternal) << result.status;
      EXPECT_EQ(result.steps, 0);
    }
  }
}

}  // namespace
}  // namespace tpurun
