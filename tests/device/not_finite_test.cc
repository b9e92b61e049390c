// A NaN or an infinity that an update writes into a variable: the step, the variable and the
// element, whatever the number of workers and the length of the loop.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/compiler/compile.h"
#include "runtime/device/device.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/program/program_text.h"

namespace tpurun {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Fills a replica's share of slot `slot`, of zeros, for the step.
using Feed = std::function<void(int64_t step, int slot, int replica, std::byte* share)>;

struct Ended {
  int64_t steps = 0;  // of all loops
  RunResult last;
  std::string variable;  // that is not finite
};

// Runs `steps` steps from variables that are zero, in loops of `loop`, until one stops early.
Ended RunFed(const Graph& graph, int workers, int64_t loop, int64_t steps, const Feed& feed) {
  const auto program = Compile(graph, {.ops = OpsOfPasses()});
  EXPECT_TRUE(program.ok()) << program.status();
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> variables;
  for (const Variable& variable : program->variables) {
    const int copies = variable.per_core ? program->num_replicas : 1;
    memory.emplace_back(Aligned(variable.shape.bytes()) * copies + kAlignment);
    const auto address = reinterpret_cast<uintptr_t>(memory.back().data());
    variables.push_back(reinterpret_cast<void*>(Aligned(static_cast<int64_t>(address))));
  }
  const auto device = Device::Create(workers);
  auto loaded = device->Load(*program, variables);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  const SlotLayout in = LayoutOf(program->infeed, program->num_replicas);
  EntryRing infeed(in.bytes, 4, 2);
  std::thread producer([&] {
    for (int64_t step = 0; step < steps; ++step) {
      const auto entry = infeed.Reserve();
      if (!entry.ok()) return;
      std::memset(*entry, 0, in.bytes);
      for (size_t slot = 0; slot < program->infeed.size(); ++slot) {
        for (int replica = 0; replica < program->num_replicas; ++replica)
          feed(step, static_cast<int>(slot), replica,
               *entry + in.offsets[slot] + replica * in.replica_bytes[slot]);
      }
      infeed.Commit();
    }
  });
  Ended ended;
  while (ended.steps < steps && ended.last.status.ok()) {
    ended.last = device->Run(
        **loaded, {.iterations = std::min(loop, steps - ended.steps), .infeed = &infeed});
    ended.steps += ended.last.steps;
  }
  EXPECT_EQ(infeed.consumed(), ended.steps);
  infeed.Close(absl::OkStatus());
  producer.join();
  if (ended.last.not_finite.has_value())
    ended.variable = program->variables[ended.last.not_finite->variable].name;
  return ended;
}

void ExpectStopped(const Ended& ended, int64_t steps, const std::string& variable, int core,
                   int64_t element) {
  ASSERT_TRUE(ended.last.not_finite.has_value()) << ended.last.status;
  EXPECT_EQ(ended.steps, steps);
  EXPECT_TRUE(absl::IsAborted(ended.last.status)) << ended.last.status;
  EXPECT_EQ(ended.variable, variable);
  EXPECT_EQ(ended.last.not_finite->core, core);
  EXPECT_EQ(ended.last.not_finite->element, element);
}

void ExpectDone(const Ended& ended, int64_t steps) {
  EXPECT_FALSE(ended.last.not_finite.has_value()) << ended.variable;
  EXPECT_TRUE(ended.last.status.ok()) << ended.last.status;
  EXPECT_EQ(ended.steps, steps);
}

// More elements than are looked at at a time, in parts that are no multiple of those.
constexpr int64_t kElements = 8 * 20000 + 24;

// w -= the gradients of all replicas, by momentum; "before" comes first in the program and stays
// finite.
Graph MomentumGraph(int num_replicas) {
  GraphBuilder b(Graph("momentum", num_replicas));
  const Value g = b.AddInfeed("g", Shape{DType::kF32, {kElements}});
  const int before = b.AddVariable({.name = "before", .shape = {DType::kF32, {3}}});
  const int w =
      b.AddVariable({.name = "w", .shape = {DType::kF32, {kElements}}, .trainable = true});
  const int slot = b.AddVariable({.name = "w/Momentum", .shape = {DType::kF32, {kElements}}});
  const Value sum = num_replicas > 1 ? CrossReplicaSum(b, g) : g;
  const Value momentum = Add(b, Mul(b, b.Read(slot), Scalar(b, 0.5)), sum);
  b.Update(slot, momentum);
  b.Update(w, Sub(b, b.Read(w), momentum));
  b.Update(before, Add(b, b.Read(before), Constant(b, DType::kF32, {3}, 1)));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

TEST(NotFiniteTest, StopsBehindTheStepThatWroteIt) {
  const Graph graph = MomentumGraph(8);
  struct Bad {
    int64_t element;
    int replica;
    float value;
  };
  for (const Bad& bad : {Bad{0, 0, kInf}, Bad{kElements - 1, 7, kNaN}, Bad{70000, 3, -kInf}}) {
    for (const int workers : {1, 2, 8}) {
      for (const int64_t loop : {1, 4, 500}) {
        const Ended ended =
            RunFed(graph, workers, loop, 12, [&](int64_t step, int, int replica, std::byte* share) {
              if (step == 7 && replica == bad.replica)
                reinterpret_cast<float*>(share)[bad.element] = bad.value;
            });
        ExpectStopped(ended, 8, "w", -1, bad.element);
      }
    }
  }
}

TEST(NotFiniteTest, TheLargestFloatsAreFinite) {
  const float largest = std::numeric_limits<float>::max();
  const Graph graph = MomentumGraph(1);
  const auto feed = [&](int64_t step, int, int, std::byte* share) {
    float* const g = reinterpret_cast<float*>(share);
    std::fill(g, g + kElements, step == 0 ? -largest : step == 1 ? largest / 2 : 0);
  };
  // w = max, and stays so.
  ExpectDone(RunFed(graph, 2, 2, 2, feed), 2);
  // w = max, then max + max / 2.
  ExpectStopped(RunFed(graph, 2, 3, 3,
                       [&](int64_t step, int, int, std::byte* share) {
                         if (step == 1) reinterpret_cast<float*>(share)[11] = -largest;
                       }),
                3, "w", -1, 11);
}

TEST(NotFiniteTest, ASlotIsFoundWhereTheVariableStaysFinite) {
  GraphBuilder b(Graph("adagrad", 1));
  const Value g = b.AddInfeed("g", Shape{DType::kF32, {4}});
  const int w = b.AddVariable({.name = "w", .shape = {DType::kF32, {4}}, .trainable = true});
  const int slot = b.AddVariable({.name = "w/Adagrad", .shape = {DType::kF32, {4}}});
  const Value sum = Add(b, b.Read(slot), Square(b, g));
  b.Update(slot, sum);
  b.Update(w, Sub(b, b.Read(w), Div(b, g, Sqrt(b, Add(b, sum, Scalar(b, 1))))));
  const auto feed = [](int64_t step, int, int, std::byte* share) {
    if (step == 2) reinterpret_cast<float*>(share)[3] = 1e30f;
  };
  ExpectStopped(RunFed(b.Take(), 2, 5, 5, feed), 3, "w/Adagrad", -1, 3);
}

TEST(NotFiniteTest, OfCopiesThatDifferTheCoreIsNamed) {
  GraphBuilder b(Graph("moving", 8));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {5}});
  const int mean = b.AddVariable({.name = "moving_mean", .shape = {DType::kF32, {5}}});
  b.Update(mean, Add(b, Mul(b, b.Read(mean), Scalar(b, 0.9)), x));
  const Graph graph = b.Take();
  for (const int workers : {1, 2, 8}) {
    const auto feed = [](int64_t step, int, int replica, std::byte* share) {
      if (step == 3 && replica >= 5) reinterpret_cast<float*>(share)[4] = kNaN;
    };
    ExpectStopped(RunFed(graph, workers, 7, 9, feed), 4, "moving_mean", 5, 4);
  }
}

TEST(NotFiniteTest, StateMayBe) {
  GraphBuilder b(Graph("state", 8));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {5}});
  const int state = b.AddVariable(
      {.name = "state", .shape = {DType::kF32, {5}}, .scope = Variable::Scope::kState});
  b.Update(state, Add(b, b.Read(state), x));
  const auto feed = [](int64_t, int, int, std::byte* share) {
    reinterpret_cast<float*>(share)[4] = kNaN;
  };
  ExpectDone(RunFed(b.Take(), 2, 3, 6, feed), 6);
}

// Rows of `table` are x added to those of its ids, each id once; `decay` writes all rows first.
Graph RowsGraph(bool decay) {
  GraphBuilder b(Graph("rows", 1));
  const Value ids = b.AddInfeed("ids", Shape{DType::kS32, {4}});
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {4, 2}});
  const Value all = decay ? b.AddInfeed("all", Shape{DType::kF32, {64, 2}}) : Value{};
  const int table =
      b.AddVariable({.name = "table", .shape = {DType::kF32, {64, 2}}, .trainable = true});
  const auto [places, first_ids] = FirstPlaces(b, ids);
  const Value rows = Add(b, Gather(b, b.Read(table), first_ids), x);
  const Value base = decay ? Sub(b, b.Read(table), all) : b.Read(table);
  b.Update(table, SetRows(b, base, first_ids, rows));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

// Of a second 9 nothing is set: its row is NaN.
void FeedIds(int slot, std::byte* share) {
  const int32_t ids[] = {3, 9, 9, 60};
  if (slot == 0) std::memcpy(share, ids, sizeof(ids));
}

TEST(NotFiniteTest, RowsThatAreSetAreLookedAtAndOthersAreNot) {
  const Graph graph = RowsGraph(false);
  const auto finite = [](int64_t, int slot, int, std::byte* share) { FeedIds(slot, share); };
  ExpectDone(RunFed(graph, 2, 3, 6, finite), 6);
  for (const int workers : {1, 2, 8}) {
    const auto feed = [](int64_t step, int slot, int, std::byte* share) {
      FeedIds(slot, share);
      if (slot == 1 && step == 4) reinterpret_cast<float*>(share)[7] = kInf;
    };
    ExpectStopped(RunFed(graph, workers, 3, 6, feed), 5, "table", -1, 60 * 2 + 1);
  }
}

TEST(NotFiniteTest, WhatIsWrittenOverInTheSameStepIsNoReasonToStop) {
  const Graph graph = RowsGraph(true);
  const auto feed_row = [](int64_t row) {
    return [row](int64_t step, int slot, int, std::byte* share) {
      FeedIds(slot, share);
      if (slot == 2 && step == 4) reinterpret_cast<float*>(share)[row * 2] = kInf;
    };
  };
  ExpectDone(RunFed(graph, 2, 3, 7, feed_row(9)), 7);
  ExpectStopped(RunFed(graph, 2, 3, 7, feed_row(10)), 5, "table", -1, 10 * 2);
}

TEST(NotFiniteTest, ACopyIsLookedAt) {
  GraphBuilder b(Graph("copy", 1));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {6}});
  const int state = b.AddVariable(
      {.name = "state", .shape = {DType::kF32, {6}}, .scope = Variable::Scope::kState});
  const int w = b.AddVariable({.name = "w", .shape = {DType::kF32, {6}}});
  const Value before = b.Read(state);
  b.Update(state, Add(b, before, x));
  b.Update(w, before);
  const auto feed = [](int64_t step, int, int, std::byte* share) {
    if (step == 1) reinterpret_cast<float*>(share)[2] = kNaN;
  };
  ExpectStopped(RunFed(b.Take(), 2, 4, 4, feed), 3, "w", -1, 2);
}

// The gradient of a kernel that is the variable's next value: its parts are output channels.
TEST(NotFiniteTest, ColumnsAreLookedAt) {
  GraphBuilder b(Graph("kernel", 1));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {16, 6, 6, 16}});
  const Value dz = b.AddInfeed("dz", Shape{DType::kF32, {16, 6, 6, 32}});
  const int w = b.AddVariable({.name = "w", .shape = {DType::kF32, {5, 5, 16, 32}}});
  const Value z = Conv2d(b, x, b.Read(w), {1, 1}, {2, 2, 2, 2}, Precision::kF32);
  const auto gradients = Gradients(b, ReduceSum(b, Mul(b, z, dz)), {b.Read(w)});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  b.Update(w, (*gradients)[0]);
  const Graph graph = b.Take();
  const auto program = Compile(graph, {.ops = OpsOfPasses()});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(absl::StrContains(PrintProgram(*program), " columns=32"));
  for (const int64_t channel : {0, 17, 31}) {
    const auto feed = [&](int64_t step, int slot, int, std::byte* share) {
      if (slot == 1 && step == 2) reinterpret_cast<float*>(share)[14 * 32 + channel] = kNaN;
    };
    ExpectStopped(RunFed(graph, 2, 4, 4, feed), 3, "w", -1, channel);
  }
}

}  // namespace
}  // namespace tpurun
