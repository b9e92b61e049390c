// Random graphs on several processes, which are threads here: the bits of one process.
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/compiler/compile.h"
#include "runtime/device/device.h"
#include "runtime/fabric/thread_fabric.h"
#include "runtime/ir/collectives.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/program/combine_parts.h"
#include "runtime/program/join_replicas.h"
#include "runtime/program/program_text.h"
#include "tests/compiler/random_graph.h"
#include "tests/compiler/run_on_device.h"

namespace tpurun {
namespace {

constexpr int kSeeds = 40;
constexpr int64_t kSteps = 3;

CoreProgram CompileFor(const Graph& graph, int processes, int process, int workers) {
  auto program = Compile(graph, {.ops = OpsOfPasses(), .processes = processes, .process = process});
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  const auto parsed = ParseProgram(PrintProgram(*program), FindOpByName);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(PrintProgram(*parsed), PrintProgram(*program));
  CombineParts(workers, *program);
  JoinReplicas(workers, *program);
  return *std::move(program);
}

// What all processes have together: the copies of a variable in the order of the replicas.
AfterSteps RunOnProcesses(const Graph& graph, int processes, int workers,
                          const EvaluateArgs& args) {
  const auto fabrics = MakeThreadFabrics(processes);
  std::vector<AfterSteps> after(processes);
  std::vector<CoreProgram> programs;
  for (int process = 0; process < processes; ++process)
    programs.push_back(CompileFor(graph, processes, process, workers));
  std::vector<std::thread> threads;
  for (int process = 0; process < processes; ++process) {
    threads.emplace_back([&, process] {
      const auto device = Device::Create(workers);
      after[process] =
          RunOnDevice(device.get(), programs[process], args, kSteps, fabrics[process].get());
    });
  }
  for (std::thread& thread : threads) thread.join();
  AfterSteps all = after[0];
  for (int process = 1; process < processes; ++process) {
    EXPECT_EQ(after[process].outputs, all.outputs);
    for (const Variable& variable : programs[0].variables) {
      const std::vector<Literal>& copies = after[process].variables[variable.name];
      if (!variable.per_core) {
        EXPECT_EQ(copies, after[0].variables[variable.name]) << variable.name;
        continue;
      }
      for (const Literal& copy : copies) all.variables[variable.name].push_back(copy);
    }
  }
  return all;
}

void ExpectSameBits(const Graph& graph, int seed, int workers) {
  const EvaluateArgs args = RandomArgs(graph, seed);
  const auto device = Device::Create(2);
  const AfterSteps want = RunOnDevice(device.get(), CompileFor(graph, 1, 0, 2), args, kSteps);
  for (int processes = 2; processes <= graph.num_replicas() / kLeastReplicasOfProcess;
       processes *= 2) {
    SCOPED_TRACE(absl::StrCat(processes, " processes"));
    const AfterSteps got = RunOnProcesses(graph, processes, workers, args);
    EXPECT_EQ(got.outputs, want.outputs);
    EXPECT_EQ(got.variables, want.variables);
  }
}

class ProcessesTest : public ::testing::TestWithParam<int> {
 protected:
  void ExpectSameBits(const Graph& graph) {
    tpurun::ExpectSameBits(graph, GetParam(), 1 + GetParam() % 2);
  }
};

// The ops of each phase of a step that exchanges values and computes others.
std::vector<std::set<std::string>> OpsBesideExchanges(const CoreProgram& program) {
  std::vector<std::set<std::string>> found;
  for (const Phase& phase : program.step) {
    std::set<std::string> ops;
    bool exchanges = false;
    for (const Instruction& instruction : phase.instructions) {
      const bool is_exchange = instruction.op->flags.exchange != Exchange::kNone;
      exchanges = exchanges || is_exchange;
      if (!is_exchange) ops.insert(instruction.op->name);
    }
    if (exchanges && !ops.empty()) found.push_back(std::move(ops));
  }
  return found;
}

TEST_P(ProcessesTest, HaveTheBitsOfOne) {
  ExpectSameBits(RandomGraph(
      GetParam(), {.ops = 40, .replicas = 16, .interleaved_groups = GetParam() % 2 == 0}));
}

// Wide enough for products of the rows of several replicas.
TEST_P(ProcessesTest, HaveTheBitsOfOneInWideGraphs) {
  ExpectSameBits(RandomGraph(GetParam(), {.widths = {33, 64, 130},
                                          .ops = 60,
                                          .replicas = 16 << GetParam() % 2,
                                          .interleaved_groups = GetParam() % 3 == 0}));
}

// Gradients of 1.4 MB, of four variables w: w += 0.001 sum over the replicas of x' (x w).
Graph LargeSums() {
  constexpr int64_t kRows = 4, kWidth = 300;
  GraphBuilder b(Graph("large_sums", 16));
  const Value x = b.AddInfeed("x", {DType::kF32, {kRows, kWidth}});
  for (const char* name : {"a", "b", "c", "d"}) {
    const int w = b.AddVariable({.name = name, .shape = {DType::kF32, {kWidth, kWidth}}});
    const Value y = MatMul(b, x, b.Read(w), Precision::kF32);
    const Value sum = CrossReplicaSum(b, MatMul(b, x, y, Precision::kF32, true));
    b.Update(w, Add(b, b.Read(w), Mul(b, sum, Scalar(b, 0.001))));
    b.AddOutput(absl::StrCat("y_", name), y);
  }
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

// Half of them are exchanged while the rest is computed, the rest while half of the variables are
// updated.
TEST(LargeSumsTest, AreExchangedBesideOtherWork) {
  const Graph graph = LargeSums();
  EXPECT_TRUE(OpsBesideExchanges(CompileFor(graph, 1, 0, 1)).empty());
  for (const int processes : {2, 4}) {
    const auto ops = OpsBesideExchanges(CompileFor(graph, processes, 0, 1));
    ASSERT_EQ(ops.size(), 2);
    EXPECT_EQ(ops[0].count("cross_replica_matmul"), 1);
  }
  for (const int workers : {1, 2}) ExpectSameBits(graph, 1, workers);
}

// The seeds are of use.
TEST(RandomGraphsOfProcesses, ExchangeAllThatGraphsDo) {
  std::map<std::string, int> found;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = RandomGraph(
        seed, {.widths = {33, 64, 130}, .ops = 60, .replicas = 16, .interleaved_groups = true});
    const std::string text = PrintProgram(CompileFor(graph, 2, 1, 1));
    for (const char* op : {"cross_process_sum", "cross_process_concat", "cross_replica_matmul"})
      found[op] += absl::StrContains(text, absl::StrCat("  ", op, " {"));
  }
  EXPECT_GT(found["cross_process_sum"], kSeeds / 2);
  EXPECT_GT(found["cross_process_concat"], kSeeds / 4);
  EXPECT_GT(found["cross_replica_matmul"], 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ProcessesTest, ::testing::Range(0, kSeeds));

}  // namespace
}  // namespace tpurun
