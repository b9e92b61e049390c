// Properties over random graphs: text parses back, every pass keeps what the graph computes, memory
// plans are sound, and the device gives the reference interpreter's bits.
#include <algorithm>
#include <initializer_list>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/cpu.h"
#include "runtime/base/random.h"
#include "runtime/compiler/compile.h"
#include "runtime/compiler/node_periods.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/collectives.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/program/combine_parts.h"
#include "runtime/program/program_text.h"
#include "runtime/program/verify_program.h"
#include "tests/compiler/evaluate_args.h"
#include "tests/compiler/run_on_device.h"

namespace tpurun {
namespace {

class Dice {
 public:
  explicit Dice(uint32_t seed) : seed_(seed) {}
  int Below(int n) { return static_cast<int>(PhiloxElement(seed_, 0, 0, 0, next_++) % n); }
  float Float() { return UniformFloat(PhiloxElement(seed_, 1, 0, 0, next_++)) * 2 - 1; }

 private:
  uint32_t seed_;
  uint64_t next_ = 0;
};

// Matrices of one batch size with three widths, joined by random ops: products, convolutions and
// pools of them as images, attention within their rows, batch norms, sums over replicas and groups
// of them; several variables, read before and after they are updated, some with a value of its own
// on each core.
Graph RandomGraph(uint32_t seed, const std::vector<int64_t>& widths = {2, 3, 5}, int ops = 25) {
  Dice dice(seed);
  const int replicas = dice.Below(2) == 0 ? 1 : 8;
  const int64_t rows = 3 + dice.Below(12);
  GraphBuilder b(Graph(absl::StrCat("random_", seed), replicas));
  std::vector<Value> matrices;
  for (const int64_t width : widths) {
    matrices.push_back(b.AddInfeed(absl::StrCat("x", width), Shape{DType::kF32, {rows, width}}));
  }
  std::vector<int> variables;
  for (int i = 0; i < 4; ++i) {
    const int64_t k = widths[dice.Below(3)], n = widths[dice.Below(3)];
    variables.push_back(
        b.AddVariable({.name = absl::StrCat("w", i), .shape = {DType::kF32, {k, n}}}));
  }
  const int kernel = b.AddVariable({.name = "kernel", .shape = {DType::kF32, {1, 3, 1, 1}}});
  std::map<int64_t, int> statistics;  // by width
  for (const int64_t width : widths) {
    statistics[width] =
        b.AddVariable({.name = absl::StrCat("s", width), .shape = {DType::kF32, {width}}});
  }
  const auto updated = [&](int variable) {
    const auto& updates = b.graph().updates();
    return std::any_of(updates.begin(), updates.end(),
                       [&](const Update& update) { return update.variable == variable; });
  };
  // Of 8 replicas: none, or one of four, two or eight.
  const auto any_groups = [&] {
    std::vector<int64_t> groups(8);
    const int size = 1 << dice.Below(3);
    for (int replica = 0; replica < 8; ++replica) groups[replica] = replica / size;
    return replicas == 1 || dice.Below(4) == 0 ? std::vector<int64_t>() : groups;
  };
  const auto as_image = [&](Value x) {
    return Reshape(b, x, {b.shape(x).dims[0], 1, b.shape(x).dims[1], 1});
  };
  const auto any = [&] { return matrices[dice.Below(static_cast<int>(matrices.size()))]; };
  const auto like = [&](Value x) {
    std::vector<Value> same;
    for (const Value m : matrices) {
      if (b.shape(m).dims == b.shape(x).dims) same.push_back(m);
    }
    return same[dice.Below(static_cast<int>(same.size()))];
  };
  std::vector<Value> updates;
  for (int i = 0; i < ops; ++i) {
    const Value x = any();
    switch (dice.Below(21)) {
      case 0:
        matrices.push_back(Relu(b, x));
        break;
      case 1:
        matrices.push_back(Add(b, x, like(x)));
        break;
      case 2:
        matrices.push_back(Mul(b, x, like(x)));
        break;
      case 3:
        matrices.push_back(Tanh(b, x));
        break;
      case 4:
        matrices.push_back(Softmax(b, x));
        break;
      case 5: {
        const Value w = b.Read(variables[dice.Below(4)]);
        if (b.shape(w).dims[0] != b.shape(x).dims[1]) break;
        matrices.push_back(MatMul(b, x, w, Precision::kDefault));
        break;
      }
      case 6: {
        // x' y: a weight gradient, the same on all cores after the sum.
        const int variable = variables[dice.Below(4)];
        const Shape shape = b.graph().variables()[variable].shape;
        for (const Value y : matrices) {
          if (b.shape(x).dims[1] != shape.dims[0] || b.shape(y).dims[1] != shape.dims[1]) continue;
          if (updated(variable)) break;
          const Value g = CrossReplicaSum(b, MatMul(b, x, y, Precision::kF32, true));
          b.Update(variable, dice.Below(2) == 0 ? Sub(b, b.Read(variable), g) : Add(b, g, g));
          break;
        }
        break;
      }
      case 7:
        matrices.push_back(Mul(b, x, Broadcast(b, ReduceMax(b, x, {1}), b.shape(x).dims, {0})));
        break;
      case 8:
        matrices.push_back(Sub(b, x, ReduceMean(b, like(x))));
        break;
      case 9: {
        // A variable takes another's old value.
        const int to = variables[dice.Below(4)], from = variables[dice.Below(4)];
        const auto& all = b.graph().variables();
        if (all[to].shape == all[from].shape && !updated(to)) b.Update(to, b.Read(from));
        break;
      }
      case 10: {
        // Constants that say what a few steps compute; a value that one of them leaves as it is.
        const Value c = Mul(b, Scalar(b, dice.Float()), Scalar(b, dice.Below(3)));
        const Value full = Broadcast(b, c, b.shape(x).dims, {});
        matrices.push_back(Add(b, Div(b, x, Scalar(b, 1)), dice.Below(2) == 0 ? c : full));
        break;
      }
      case 11: {
        // There and back.
        const std::vector<int64_t> dims = b.shape(x).dims;
        const Value flat = Reshape(b, x, {dims[0] * dims[1]});
        matrices.push_back(Neg(b, Neg(b, Reshape(b, flat, dims))));
        break;
      }
      case 12: {
        // The same again.
        const Value y = like(x);
        matrices.push_back(Sub(b, Mul(b, x, y), Square(b, Mul(b, x, y))));
        break;
      }
      case 13:
        matrices.push_back(Select(b, Greater(b, x, Scalar(b, 0)), Sub(b, x, Scalar(b, 0)),
                                  Convert(b, Convert(b, x, DType::kBF16), DType::kF32)));
        break;
      case 14:
        // Rows that go with all rows, of a group of replicas.
        matrices.push_back(Sub(b, x, CrossReplicaSum(b, SumOfRows(b, like(x)), any_groups())));
        break;
      case 15: {
        // A batch norm with a moving statistic.
        const int statistic = statistics[b.shape(x).dims[1]];
        const auto [mean, variance] = Moments(b, x);
        matrices.push_back(BatchNorm(b, x, mean, variance, b.Read(statistic), mean, 0.5));
        if (!updated(statistic)) b.Update(statistic, Add(b, b.Read(statistic), variance));
        break;
      }
      case 16: {
        const Value y = Conv2d(b, as_image(x), b.Read(kernel), {1, 1}, {0, 0, 1, 1},
                               dice.Below(2) == 0 ? Precision::kDefault : Precision::kF32);
        matrices.push_back(Reshape(b, Relu(b, y), b.shape(x).dims));
        break;
      }
      case 17:
        matrices.push_back(Reshape(
            b, MaxPool(b, Relu(b, as_image(x)), {1, 3}, {1, 1}, {0, 0, 1, 1}), b.shape(x).dims));
        break;
      case 18:
        // Stored in bf16 and read by ops whose numbers are f32.
        matrices.push_back(Add(b, Convert(b, x, DType::kBF16), like(x)));
        break;
      case 19: {
        // Attention of the numbers of a row to one another, each a vector of one; to and fro.
        const auto as_vectors = [&](Value y) {
          return Reshape(b, y, {b.shape(x).dims[0], b.shape(x).dims[1], 1});
        };
        const Precision precision = dice.Below(2) == 0 ? Precision::kDefault : Precision::kF32;
        const Value scores =
            Softmax(b, BatchMatMul(b, as_vectors(x), as_vectors(like(x)), precision, false, true));
        const Value back = BatchMatMul(b, scores, scores, precision, dice.Below(2) == 0);
        matrices.push_back(Reshape(b, BatchMatMul(b, back, as_vectors(like(x)), precision, true),
                                   b.shape(x).dims));
        break;
      }
      case 20: {
        // Columns ahead of rows and back; once among dimensions of one entry, once three times.
        const Value columns = Transpose(b, x, {1, 0});
        const Value image = Transpose(b, as_image(like(x)), {2, 1, 0, 3});
        const Value sum = Add(b, columns, Reshape(b, image, b.shape(columns).dims));
        matrices.push_back(
            Transpose(b, Transpose(b, Transpose(b, Tanh(b, sum), {1, 0}), {1, 0}), {1, 0}));
        break;
      }
    }
  }
  b.AddOutput("last", matrices.back());
  b.AddOutput("any", any());
  b.AddOutput("sum", ReduceSum(b, any()));
  b.AddOutput("w0", b.Read(variables[0]));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

EvaluateArgs RandomArgs(const Graph& graph, uint32_t seed) {
  Dice dice(seed + 1000);
  const auto fill = [&](const Shape& shape) {
    Literal literal(shape);
    for (float& value : literal.values<float>()) value = dice.Float();
    return literal;
  };
  return FilledArgs(graph, fill);
}

// A variable that a pass gave a copy a core starts with equal copies.
EvaluateArgs ForGraph(EvaluateArgs args, const Graph& graph) {
  for (const Variable& variable : graph.variables()) {
    auto& literals = args.variables[variable.name];
    literals.resize(variable.per_core ? graph.num_replicas() : 1, literals[0]);
  }
  return args;
}

constexpr int kSeeds = 100;

class RandomGraphTest : public ::testing::TestWithParam<int> {};

TEST_P(RandomGraphTest, TextParsesBack) {
  const std::string text = PrintGraph(RandomGraph(GetParam()));
  const auto parsed = ParseGraph(text, FindOpByName);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(PrintGraph(*parsed), text);
}

TEST_P(RandomGraphTest, EveryPassKeepsWhatTheGraphComputes) {
  const ScopedFlushDenormals flush;
  Graph graph = RandomGraph(GetParam());
  const EvaluateArgs args = RandomArgs(graph, GetParam());
  const auto want = Evaluate(graph, ForGraph(args, graph));
  ASSERT_TRUE(want.ok()) << want.status();
  for (const Pass& pass : Passes(OpsOfPasses())) {
    auto result = pass.run(graph);
    ASSERT_TRUE(result.ok()) << result.status();
    graph = *std::move(result);
    ASSERT_TRUE(VerifyGraph(graph, pass.name).ok());
    const auto got = Evaluate(graph, ForGraph(args, graph));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->outputs, want->outputs) << pass.name;
    for (const auto& [name, literals] : want->variables) {
      EXPECT_EQ(got->variables.at(name)[0], literals[0]) << pass.name << " " << name;
    }
  }
}

TEST_P(RandomGraphTest, ProgramsVerifyParseBackAndRunLikeTheInterpreter) {
  const ScopedFlushDenormals flush;
  const Graph graph = RandomGraph(GetParam());
  const EvaluateArgs args = RandomArgs(graph, GetParam());
  const auto want = Evaluate(graph, ForGraph(args, graph));
  ASSERT_TRUE(want.ok()) << want.status();
  const auto program = Compile(graph, {.ops = OpsOfPasses()});
  ASSERT_TRUE(program.ok()) << program.status();
  const std::string text = PrintProgram(*program);
  const auto parsed = ParseProgram(text, FindOpByName);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(PrintProgram(*parsed), text);
  CoreProgram combined = *parsed;
  CombineParts(2, combined);
  EXPECT_TRUE(VerifyProgram(combined).ok()) << VerifyProgram(combined);
  const auto device = Device::Create(2);
  for (const CoreProgram* run : std::initializer_list<const CoreProgram*>{&*parsed, &combined}) {
    SCOPED_TRACE(run == &combined ? "with combined parts" : "as compiled");
    const auto got = RunOnDevice(device.get(), *run, args, 1);
    for (size_t slot = 0; slot < program->outfeed.size(); ++slot) {
      EXPECT_EQ(got.outputs[slot], want->outputs[slot]) << "output " << program->outfeed[slot].name;
    }
    for (const Variable& variable : program->variables) {
      EXPECT_EQ(got.variables.at(variable.name)[0], want->variables.at(variable.name)[0])
          << variable.name;
    }
  }
}

// Wide enough for the library, its packed weights, and sums merged over cores.
Graph F32Graph(uint32_t seed) { return RandomGraph(seed, {33, 64, 130}, 110); }

TEST_P(RandomGraphTest, PackedWeightsGiveTheSameBitsStepAfterStep) {
  const Graph graph = F32Graph(GetParam());
  const EvaluateArgs args = RandomArgs(graph, GetParam());
  const auto program = Compile(graph, {.ops = OpsOfPasses()});
  const auto plain =
      Compile(graph, {.ops = OpsOfPasses(), .disabled_passes = {"layout_assignment"}});
  ASSERT_TRUE(program.ok() && plain.ok()) << program.status() << plain.status();
  EXPECT_FALSE(absl::StrContains(PrintProgram(*plain), "  pack {"));
  const auto two = Device::Create(2);
  const auto three = Device::Create(3);
  const auto want = RunOnDevice(two.get(), *plain, args, 3),
             got = RunOnDevice(three.get(), *program, args, 3);
  EXPECT_EQ(got.outputs, want.outputs);
  EXPECT_EQ(got.variables, want.variables);
}

// The graph with outputs of some steps only, but for the one called "sum".
Graph WithPeriods(const Graph& graph, uint32_t seed) {
  Dice dice(seed + 2000);
  constexpr int64_t kPeriods[] = {2, 3, 4, 6};
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) EXPECT_TRUE(rewrite.Copy(node).ok());
  for (const Output& output : graph.outputs()) {
    const int64_t period = output.name == "sum" ? 1 : kPeriods[dice.Below(4)];
    rewrite.graph.AddOutput(output.name, rewrite.At(output.value), period);
  }
  for (const Update& update : graph.updates()) {
    EXPECT_TRUE(rewrite.graph.AddUpdate(update.variable, rewrite.At(update.value)).ok());
  }
  return std::move(rewrite.graph);
}

TEST_P(RandomGraphTest, OutputsOfSomeStepsAreThoseOfTheStepAndChangeNoVariable) {
  const Graph graph = F32Graph(GetParam());
  const EvaluateArgs args = RandomArgs(graph, GetParam());
  const auto all = Compile(graph, {.ops = OpsOfPasses()});
  const auto some = Compile(WithPeriods(graph, GetParam()), {.ops = OpsOfPasses()});
  ASSERT_TRUE(all.ok() && some.ok()) << all.status() << some.status();
  const auto parsed = ParseProgram(PrintProgram(*some), FindOpByName);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(PrintProgram(*parsed), PrintProgram(*some));
  const auto two = Device::Create(2);
  const auto three = Device::Create(3);
  for (const int64_t steps : {1, 4, 7}) {
    const auto want = RunOnDevice(two.get(), *all, args, steps);
    const auto got = RunOnDevice(three.get(), *parsed, args, steps);
    EXPECT_EQ(got.variables, want.variables);
    for (size_t slot = 0; slot < some->outfeed.size(); ++slot) {
      if ((steps - 1) % some->outfeed[slot].period != 0) continue;
      EXPECT_EQ(got.outputs[slot], want.outputs[slot])
          << some->outfeed[slot].name << " of step " << steps - 1;
    }
  }
}

// The seeds are of use.
TEST(RandomGraphs, SomeNodesRunBeforeAndSomeBehindTheStep) {
  int before = 0, after = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    for (const NodePeriod& period : FindNodePeriods(WithPeriods(F32Graph(seed), seed))) {
      (period.before ? before : after) += period.period > 1;
    }
  }
  EXPECT_GT(before, kSeeds / 10);
  EXPECT_GT(after, kSeeds);
}

TEST(RandomGraphs, PackAndMerge) {
  int packs = 0, loop_carried = 0, merged = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto program = Compile(F32Graph(seed), {.ops = OpsOfPasses()});
    ASSERT_TRUE(program.ok()) << program.status();
    const std::string text = PrintProgram(*program);
    const size_t step = text.find("\nstep phase 0");
    packs += absl::StrContains(text.substr(0, step), "  pack {");
    loop_carried += absl::StrContains(text.substr(step), "  pack {");
    merged += absl::StrContains(text, "cross_replica_matmul");
  }
  EXPECT_GT(merged, 3);
  EXPECT_GT(packs, kSeeds / 10);
  EXPECT_GT(loop_carried, kSeeds / 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphTest, ::testing::Range(0, kSeeds));

}  // namespace
}  // namespace tpurun
