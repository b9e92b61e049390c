// fuse_rows on arrays of several blocks of rows and tiles of any width: the interpreter's bits of
// the ops one by one.
#include "runtime/compiler/fuse_rows.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/cpu.h"
#include "runtime/compiler/compile.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/program/join_replicas.h"
#include "runtime/program/program_text.h"
#include "tests/compiler/evaluate_args.h"
#include "tests/compiler/run_on_device.h"
#include "tests/ops/kernel_case.h"

namespace tpurun {
namespace {

struct Dims {
  int64_t examples, steps, columns;
};

// What a training computes of rows, forward and backward, (examples, steps, C), with reshapes and
// values in bf16 between.
Graph TrainedRows(const Dims& of) {
  GraphBuilder b(Graph("rows", 2));
  const std::vector<int64_t> dims = {of.examples, of.steps, of.columns};
  const std::vector<int64_t> flat_dims = {of.examples * of.steps, of.columns};
  const Value x = b.AddInfeed("x", Shape{DType::kBF16, dims});
  const Value residual = b.AddInfeed("residual", Shape{DType::kF32, flat_dims});
  const Value weights = b.AddInfeed("weights", Shape{DType::kF32, flat_dims});
  const Value gamma = b.AddInfeed("gamma", Shape{DType::kF32, {of.columns}});
  const Value step = Constant(b, DType::kS64, {}, 3);
  const Value dropped = Dropout(b, Convert(b, x, DType::kF32), step, 0.25, 7, 5);
  const Value sum = Add(b, Reshape(b, dropped, flat_dims), residual);
  const Value scaled = Mul(b, NormalizeRows(b, Reshape(b, sum, dims), 1e-3), gamma);
  const Value rounded = Convert(b, Convert(b, Gelu(b, scaled), DType::kBF16), DType::kF32);
  const Value y = Dropout(b, rounded, step, 0.5, 7, 6);
  const Value loss = ReduceSum(b, Mul(b, Reshape(b, y, flat_dims), weights));
  const auto gradients = Gradients(b, loss, {gamma, residual, x});
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  if (!gradients.ok()) return b.Take();
  const Value d_residual = (*gradients)[1];
  b.AddOutput("loss", loss);
  b.AddOutput("d_gamma", CrossReplicaSum(b, (*gradients)[0]));
  b.AddOutput("d_bias", SumOfRows(b, d_residual));
  // Of the same array: a reshape in between that others read, and what only they read.
  b.AddOutput("d_residual", Reshape(b, d_residual, dims));
  b.AddOutput("d_x", ReduceSum(b, Relu(b, Convert(b, (*gradients)[2], DType::kF32)), {0}));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

EvaluateArgs Waves(const Graph& graph) {
  double next = 0;
  return FilledArgs(graph, [&](const Shape& shape) {
    Literal f32(Shape{DType::kF32, shape.dims});
    for (float& value : f32.values<float>())
      value = static_cast<float>(3 * std::sin(next += 1.618));
    return shape.dtype == DType::kF32 ? f32 : StoredIn(shape.dtype, f32);
  });
}

class FuseRowsTest : public ::testing::TestWithParam<Dims> {};

TEST_P(FuseRowsTest, KeepsEveryBit) {
  const ScopedFlushDenormals flush;
  const Dims& of = GetParam();
  const Graph graph = TrainedRows(of);
  const EvaluateArgs args = Waves(graph);
  const auto want = Evaluate(graph, args);
  ASSERT_TRUE(want.ok()) << want.status();

  const auto fused = FuseRows(graph, OpsOfPasses(), 1);
  ASSERT_TRUE(fused.ok()) << fused.status();
  EXPECT_EQ(absl::StrContains(PrintGraph(*fused), "fused_rows"), of.columns <= 8192);
  EXPECT_TRUE(VerifyGraph(*fused, "fuse_rows").ok());
  const auto got = Evaluate(*fused, args);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->outputs, want->outputs);

  // Beside the other passes, by the kernels of each machine.
  const int64_t elements = of.examples * of.steps * of.columns;
  const bool fuses = elements >= kFusedRowsElements && of.columns <= 8192;
  for (const Machine& machine : MachinesOfThisProcessor()) {
    SCOPED_TRACE(machine.ToString());
    const auto program = Compile(graph, {.ops = OpsOfPasses(), .machine = machine});
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(absl::StrContains(PrintProgram(*program), "fused_rows"), fuses);
    for (const int workers : {1, 2}) {
      CoreProgram joined = *program;
      JoinReplicas(workers, joined);
      const auto device = Device::Create(workers);
      const AfterSteps after = RunOnDevice(device.get(), joined, args, 1);
      for (size_t slot = 0; slot < program->outfeed.size(); ++slot) {
        EXPECT_EQ(after.outputs[slot], want->outputs[slot])
            << program->outfeed[slot].name << ", " << workers << " workers";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, FuseRowsTest,
                         ::testing::Values(Dims{3, 7, 5}, Dims{1, 1, 2}, Dims{8, 32, 64},
                                           Dims{5, 41, 98}, Dims{3, 43, 300}, Dims{2, 9, 1030},
                                           Dims{1, 5, 4096}, Dims{1, 5, 9000}, Dims{40, 113, 16}),
                         [](const auto& info) {
                           const Dims& of = info.param;
                           return absl::StrCat(of.examples, "x", of.steps, "x", of.columns);
                         });

}  // namespace
}  // namespace tpurun
