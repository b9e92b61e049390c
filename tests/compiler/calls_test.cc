// How nodes are cut into parts.
#include "runtime/compiler/calls.h"

#include <utility>

#include "gtest/gtest.h"
#include "runtime/base/cpu.h"
#include "runtime/compiler/compile.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "tests/compiler/evaluate_args.h"
#include "tests/compiler/run_on_device.h"

namespace tpurun {
namespace {

// Sequences of 5 in 10 examples, which a product takes as 50 rows.
Graph SequenceGraph(int64_t width) {
  constexpr int64_t kExamples = 10, kLength = 5;
  GraphBuilder b(Graph("sequences", 1));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {kExamples, kLength, width}});
  const int w = b.AddVariable({.name = "w", .shape = {DType::kF32, {width, width}}});
  const Value rows = Reshape(b, Tanh(b, x), {kExamples * kLength, width});
  const Value y = Relu(b, MatMul(b, rows, b.Read(w), Precision::kDefault));
  const Value sequences = Reshape(b, y, {kExamples, kLength, width});
  b.AddOutput("y", Neg(b, Reshape(b, y, {kExamples, kLength * width})));
  b.AddOutput("last", Slice(b, sequences, {0, kLength - 1, 0}, {kExamples, 1, width}));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

// A product of this width is the library's, or too small for it and then the interpreter's, bit for
// bit. 10 examples in 8 parts: of some there are two.
TEST(Calls, ARowOfASequenceStaysInThePartOfItsExample) {
  const ScopedFlushDenormals flush;
  for (const int64_t width : {6, 64}) {
    const Graph graph = SequenceGraph(width);
    const auto program = Compile(graph, {.ops = OpsOfPasses()});
    ASSERT_TRUE(program.ok()) << program.status();
    ASSERT_EQ(program->step.size(), 1);
    EXPECT_GE(program->step[0].instructions.size(), 5);
    for (const Instruction& instruction : program->step[0].instructions) {
      EXPECT_EQ(PartitionOf(instruction), (Partition{false, 8, 10, false})) << instruction.name;
    }
    const EvaluateArgs args = FilledArgs(graph, [next = 0](const Shape& shape) mutable {
      Literal literal(shape);
      for (float& value : literal.values<float>())
        value = static_cast<float>(++next * 37 % 101) / 64 - 0.75f;
      return literal;
    });
    const auto want = Evaluate(graph, args);
    ASSERT_TRUE(want.ok()) << want.status();
    const auto one = Device::Create(1);
    const auto three = Device::Create(3);
    const AfterSteps alone = RunOnDevice(one.get(), *program, args, 2);
    EXPECT_EQ(RunOnDevice(three.get(), *program, args, 2).outputs, alone.outputs);
    for (size_t output = 0; output < want->outputs.size(); ++output) {
      const Literal &wanted = want->outputs[output][0], &got = alone.outputs[output][0];
      if (width == 6) {
        EXPECT_EQ(got, wanted);
      }
      // Another order of 64 sums of products below 1: 2 * 64 * 2^-24 of their absolute sum.
      for (int64_t i = 0; i < wanted.shape().num_elements(); ++i)
        ASSERT_NEAR(got.values<float>()[i], wanted.values<float>()[i], 64 * 0x1p-17);
    }
  }
}

// The partition of conv2d_filter_grad of 32 images of 16 x 16, and of the moments of its dy.
std::pair<Partition, Partition> OfSumsOverExamples(int64_t kernel, int64_t c, int64_t f,
                                                   Precision precision) {
  constexpr int64_t kImages = 32, kSize = 16;
  GraphBuilder b(Graph("sums", 1));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {kImages, kSize, kSize, c}});
  const Value dy = b.AddInfeed("dy", Shape{DType::kF32, {kImages, kSize, kSize, f}});
  const int64_t before = (kernel - 1) / 2, after = kernel - 1 - before;
  const Attrs attrs = {{"precision", static_cast<int64_t>(precision)},
                       {"strides", std::vector<int64_t>{1, 1}},
                       {"pads", std::vector<int64_t>{before, after, before, after}},
                       {"kernel_dims", std::vector<int64_t>{kernel, kernel, c, f}}};
  b.AddOutput("dk", b.Add(*FindOpByName("conv2d_filter_grad"), {x, dy}, attrs, "dk"));
  b.AddOutput("mean", Moments(b, dy, "moments").first);
  EXPECT_TRUE(b.status().ok()) << b.status();
  const Graph graph = b.Take();
  const Calls calls(graph);
  std::pair<Partition, Partition> partitions;
  for (const Node& node : graph.nodes()) {
    if (node.op->name == "conv2d_filter_grad") partitions.first = calls.PartitionOf(node);
    if (node.op->name == "moments") partitions.second = calls.PartitionOf(node);
  }
  return partitions;
}

TEST(Calls, SumsOverExamplesAreDividedByWhatTheySum) {
  const auto rows = [](int parts, int64_t of) { return Partition{false, parts, of}; };
  const auto columns = [](int parts, int64_t of) { return Partition{false, parts, of, true}; };
  // Two parts of channels or more; else rows of the kernel (what split_k leaves), a page in each.
  EXPECT_EQ(OfSumsOverExamples(3, 64, 64, Precision::kF32),
            std::pair(columns(4, 64), columns(4, 64)));
  EXPECT_EQ(OfSumsOverExamples(3, 32, 32, Precision::kF32),
            std::pair(columns(2, 32), columns(2, 32)));
  EXPECT_EQ(OfSumsOverExamples(3, 16, 16, Precision::kF32), std::pair(rows(1, 3), columns(1, 16)));
  EXPECT_EQ(OfSumsOverExamples(3, 3, 16, Precision::kF32), std::pair(rows(1, 3), columns(1, 16)));
  EXPECT_EQ(OfSumsOverExamples(5, 1, 32, Precision::kF32),
            std::pair(columns(2, 32), columns(2, 32)));
  EXPECT_EQ(OfSumsOverExamples(3, 16, 32, Precision::kDefault),
            std::pair(rows(1, 3), columns(2, 32)));
  EXPECT_EQ(OfSumsOverExamples(3, 32, 32, Precision::kDefault),
            std::pair(columns(2, 32), columns(2, 32)));
  // Little work.
  EXPECT_EQ(OfSumsOverExamples(1, 2, 2, Precision::kF32), std::pair(rows(1, 1), rows(1, 2)));
}

TEST(Calls, PartsHoldWholeExamples) {
  const OpCall call{.op = FindOpByName("neg"),
                    .operands = {Shape{DType::kF32, {15, 4}}},
                    .results = {Shape{DType::kF32, {15, 4}}},
                    .needed = {true},
                    .parts = 2,
                    .rows = 5};
  EXPECT_EQ(BeginOfPart(call, 0), 0);
  EXPECT_EQ(BeginOfPart(call, 1), 2 * 3 * 4);
  EXPECT_EQ(BeginOfPart(call, 2), 60);
}

}  // namespace
}  // namespace tpurun
