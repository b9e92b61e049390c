// Properties over random graphs: text parses back, every pass keeps what the graph computes, memory
// plans are sound, and the device gives the reference interpreter's bits.
#include "tests/compiler/random_graph.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/cpu.h"
#include "runtime/base/status.h"
#include "runtime/compiler/compile.h"
#include "runtime/compiler/fuse_rows.h"
#include "runtime/compiler/node_periods.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"
#include "runtime/program/combine_parts.h"
#include "runtime/program/join_replicas.h"
#include "runtime/program/program_text.h"
#include "runtime/program/verify_program.h"
#include "tests/compiler/run_on_device.h"

namespace tpurun {
namespace {

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

Graph GraphOfRows(uint32_t seed) { return RandomGraph(seed, {.ops = 60, .replicas = 8}); }

// Rows of arrays of any size; the pass leaves small ones as they are, unless it is told otherwise.
absl::StatusOr<Graph> FuseAllRows(Graph graph) {
  for (const Pass& pass : Passes(OpsOfPasses())) {
    if (pass.name == "fuse_rows") break;
    ASSIGN_OR_RETURN(graph, pass.run(graph));
  }
  return FuseRows(graph, OpsOfPasses(), 1);
}

TEST(RandomGraph, MostHaveRowsToFuse) {
  int fused = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto graph = FuseAllRows(GraphOfRows(seed));
    ASSERT_TRUE(graph.ok()) << graph.status();
    fused += absl::StrContains(PrintGraph(*graph), "fused_rows");
  }
  EXPECT_GT(fused, kSeeds / 2);
}

TEST_P(RandomGraphTest, FusedRowsKeepWhatTheGraphComputes) {
  const ScopedFlushDenormals flush;
  const Graph graph = GraphOfRows(GetParam());
  const EvaluateArgs args = RandomArgs(graph, GetParam());
  const auto want = Evaluate(graph, ForGraph(args, graph));
  ASSERT_TRUE(want.ok()) << want.status();
  const auto fused = FuseAllRows(graph);
  ASSERT_TRUE(fused.ok()) << fused.status();
  ASSERT_TRUE(VerifyGraph(*fused, "fuse_rows").ok());
  const auto got = Evaluate(*fused, ForGraph(args, *fused));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->outputs, want->outputs);
  for (const auto& [name, literals] : want->variables)
    EXPECT_EQ(got->variables.at(name)[0], literals[0]) << name;
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
  CoreProgram joined = combined;
  JoinReplicas(2, joined);
  const auto device = Device::Create(2);
  for (const CoreProgram* run :
       std::initializer_list<const CoreProgram*>{&*parsed, &combined, &joined}) {
    SCOPED_TRACE(run == &joined     ? "with joined replicas"
                 : run == &combined ? "with combined parts"
                                    : "as compiled");
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
Graph F32Graph(uint32_t seed) { return RandomGraph(seed, {.widths = {33, 64, 130}, .ops = 110}); }

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

// Rows that fill lines of 64 bytes: calls of several replicas are joined.
Graph GraphToJoin(uint32_t seed) {
  return RandomGraph(seed, {.widths = {16, 32, 64}, .ops = 60, .replicas = 8});
}

TEST_P(RandomGraphTest, JoinedReplicasGiveTheSameBits) {
  const Graph graph = GraphToJoin(GetParam());
  const EvaluateArgs args = RandomArgs(graph, GetParam());
  const auto program = Compile(graph, {.ops = OpsOfPasses()});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto three = Device::Create(3);
  const AfterSteps want = RunOnDevice(three.get(), *program, args, 2);
  for (const int workers : {1, 2, 4}) {
    SCOPED_TRACE(absl::StrCat(workers, " workers"));
    CoreProgram joined = *program;
    JoinReplicas(workers, joined);
    const auto device = Device::Create(workers);
    const AfterSteps got = RunOnDevice(device.get(), joined, args, 2);
    EXPECT_EQ(got.outputs, want.outputs);
    EXPECT_EQ(got.variables, want.variables);
  }
}

TEST(RandomGraphsToJoin, SomeHaveJoinedCallsAndCallsOfEachCoreBesides) {
  int both = 0;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    auto program = Compile(GraphToJoin(seed), {.ops = OpsOfPasses()});
    ASSERT_TRUE(program.ok()) << program.status();
    JoinReplicas(2, *program);
    for (const Phase& phase : program->step) {
      const auto joins = [](const Instruction& instruction) { return instruction.joins_rows; };
      both += phase.joined() &&
              !std::all_of(phase.instructions.begin(), phase.instructions.end(), joins);
    }
  }
  EXPECT_GT(both, 3);
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
