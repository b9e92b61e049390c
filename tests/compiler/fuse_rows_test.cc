// fuse_rows on arrays of several blocks of rows and tiles of any width: the interpreter's bits of
// the ops one by one.
#include "runtime/compiler/fuse_rows.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
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

namespace tpurun {
namespace {

// What a training computes of rows, forward and backward: (examples, steps, C).
Graph NormalizedRows(int64_t examples, int64_t steps, int64_t columns) {
  GraphBuilder b(Graph("rows", 2));
  const std::vector<int64_t> dims = {examples, steps, columns};
  const Value x = b.AddInfeed("x", Shape{DType::kF32, dims});
  const Value residual = b.AddInfeed("residual", Shape{DType::kF32, {examples * steps, columns}});
  const Value stored = b.AddInfeed("stored", Shape{DType::kBF16, dims});
  const Value gamma = b.AddInfeed("gamma", Shape{DType::kF32, {columns}});
  const Value step = Constant(b, DType::kS64, {}, 3);
  const auto flat = [&](Value rows) { return Reshape(b, rows, {examples * steps, columns}); };
  const Value dropped = Dropout(b, x, step, 0.25, 7, 5);
  const Value sum = Add(b, flat(dropped), residual);
  const Value y = Gelu(b, Mul(b, NormalizeRows(b, Reshape(b, sum, dims), 1e-3), gamma));
  b.AddOutput("y", ReduceSum(b, Convert(b, flat(y), DType::kBF16), {0}));
  const Value dy = Mul(b, Sub(b, Convert(b, stored, DType::kF32), y), gamma);
  b.AddOutput("d_gamma", SumOfRows(b, dy));
  const Value kept = Dropout(b, dy, step, 0.25, 7, 5);
  b.AddOutput("d_bias", SumOfRows(b, flat(kept)));
  b.AddOutput("of_rows", ReduceSum(b, Relu(b, kept), {2}));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

EvaluateArgs Waves(const Graph& graph) {
  double next = 0;
  return FilledArgs(graph, [&](const Shape& shape) {
    Literal f32(Shape{DType::kF32, shape.dims});
    for (float& value : f32.values<float>())
      value = static_cast<float>(3 * std::sin(next += 1.618));
    if (shape.dtype == DType::kF32) return f32;
    Literal bf16(shape);
    std::transform(f32.values<float>().begin(), f32.values<float>().end(),
                   reinterpret_cast<uint16_t*>(bf16.data()),
                   [](float value) { return static_cast<uint16_t>(BFloat16Bits(value)); });
    return bf16;
  });
}

struct Dims {
  int64_t examples, steps, columns;
};

class FuseRowsTest : public ::testing::TestWithParam<Dims> {};

TEST_P(FuseRowsTest, KeepsEveryBit) {
  const ScopedFlushDenormals flush;
  const Dims& of = GetParam();
  const Graph graph = NormalizedRows(of.examples, of.steps, of.columns);
  const EvaluateArgs args = Waves(graph);
  const auto want = Evaluate(graph, args);
  ASSERT_TRUE(want.ok()) << want.status();

  const auto fused = FuseRows(graph, OpsOfPasses(), 1);
  ASSERT_TRUE(fused.ok()) << fused.status();
  EXPECT_TRUE(absl::StrContains(PrintGraph(*fused), "fused_rows"));
  EXPECT_TRUE(VerifyGraph(*fused, "fuse_rows").ok());
  const auto got = Evaluate(*fused, args);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->outputs, want->outputs);

  // By the kernels of this machine, beside the other passes.
  const auto program = Compile(graph, {.ops = OpsOfPasses()});
  ASSERT_TRUE(program.ok()) << program.status();
  const bool is_large = of.examples * of.steps * of.columns >= kFusedRowsElements;
  EXPECT_EQ(absl::StrContains(PrintProgram(*program), "fused_rows"), is_large);
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

INSTANTIATE_TEST_SUITE_P(Rows, FuseRowsTest,
                         ::testing::Values(Dims{3, 7, 5}, Dims{1, 1, 2}, Dims{8, 32, 64},
                                           Dims{5, 41, 98}, Dims{3, 43, 300}, Dims{2, 9, 1030},
                                           Dims{1, 5, 9000}, Dims{40, 113, 16}),
                         [](const auto& info) {
                           const Dims& of = info.param;
                           return absl::StrCat(of.examples, "x", of.steps, "x", of.columns);
                         });

}  // namespace
}  // namespace tpurun
