// Calls of more replicas for few workers.
#include "runtime/program/span_replicas.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/ops/op_list.h"
#include "runtime/program/program_text.h"
#include "runtime/program/verify_program.h"

namespace tpurun {
namespace {

constexpr int64_t kScratch = 1024, kWeights = 4 * 16 * 4;  // bytes

// An lstm of 8 cores with so many rows each, whose worker memory has 4096 bytes.
std::string Text(int64_t rows, const std::string& kernel) {
  const auto states = [&](const std::string& more) { return absl::StrCat("f32[", rows, more); };
  return absl::StrCat(
      "program \"p\" replicas=8 machine=\"x86_64\" library=\"tpurun\"\n"
      "arena shared=64 core=65536 worker=4096\ninfeed 0 \"x\" ",
      states(",2,16]"), "\ninfeed 1 \"h\" ", states(",4]"),
      "\nvariable 0 \"v\" f32[4,16] constant(0)\nstep phase 0\n"
      "  lstm {activation=\"tanh\", precision=3, recurrent_activation=\"sigmoid\"} \"lstm\" "
      "per_core parts=8 rows=1 kernel=\"",
      kernel, "\" scratch=worker:0+", kScratch, "\n    <- infeed:0 ", states(",2,16]"),
      ", variable:0 f32[4,16], infeed:1 ", states(",4]"), ", infeed:1 ", states(",4]"),
      "\n    -> core:0 ", states(",2,4]"), ", none ", states(",2,4]"), ", none ", states(",2,16]"),
      "\n");
}

CoreProgram SpannedFor(int workers, const std::string& text, int64_t cached_bytes = 0) {
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  EXPECT_TRUE(program.ok()) << program.status() << text;
  if (!program.ok()) return {};
  SpanReplicas(workers, *program, cached_bytes);
  EXPECT_TRUE(VerifyProgram(*program).ok()) << VerifyProgram(*program);
  return *std::move(program);
}

int ReplicasFor(int workers, const std::string& text) {
  return SpannedFor(workers, text).Instructions()[0]->replicas_per_call;
}

TEST(SpanReplicas, AWorkerHasOneCallForItsCores) {
  const std::string text = Text(8, "gemm_plain");
  EXPECT_EQ(ReplicasFor(1, text), 8);
  EXPECT_EQ(ReplicasFor(2, text), 4);
  EXPECT_EQ(ReplicasFor(3, text), 2);
  EXPECT_EQ(ReplicasFor(4, text), 2);
  EXPECT_EQ(ReplicasFor(8, text), 1);
  EXPECT_EQ(ReplicasFor(16, text), 1);
}

TEST(SpanReplicas, ACallHas64RowsAtMost) {
  EXPECT_EQ(ReplicasFor(1, Text(16, "gemm_plain")), 4);
  EXPECT_EQ(ReplicasFor(1, Text(33, "gemm_plain")), 1);
}

TEST(SpanReplicas, AKernelForTheRowsOfACallKeepsThem) {
  EXPECT_EQ(ReplicasFor(1, Text(8, "onednn_f32")), 1);
  EXPECT_EQ(ReplicasFor(1, Text(8, "reference")), 8);
}

TEST(SpanReplicas, WeightsInTheCacheCostOneRowNoMore) {
  const std::string text = Text(8, "gemm_plain");
  EXPECT_EQ(SpannedFor(2, text, kWeights).Instructions()[0]->replicas_per_call, 1);
  EXPECT_EQ(SpannedFor(2, text, kWeights - 1).Instructions()[0]->replicas_per_call, 4);
}

// A product of 8 cores with 8 rows each and weights [4096, columns] in `weights`.
std::string Product(int64_t columns, const std::string& kernel, const std::string& weights,
                    const std::string& attrs = "precision=3", const std::string& x = "8,4096") {
  const std::string y = absl::StrCat("f32[4096,", columns, "]");
  return absl::StrCat(
      "program \"p\" replicas=8 machine=\"x86_64\" library=\"tpurun\"\n"
      "arena shared=67108864 core=67108864 worker=1048576\ninfeed 0 \"x\" f32[",
      x, "]\ninfeed 1 \"w\" ", y, "\nvariable 0 \"v\" ", y,
      " constant(0)\nstep phase 0\n  matmul {", attrs, "} \"y\" per_core parts=8 rows=1 kernel=\"",
      kernel, "\" scratch=worker:0+1048576\n    <- infeed:0 f32[", x, "], ", weights, " ", y,
      "\n    -> core:0 f32[8,", columns, "]\n");
}

TEST(SpanReplicas, AProductThatReadsMostlyWeightsIsOneCallOfAWorker) {
  const std::string kernel = "gemm_plain", weights = "variable:0";
  EXPECT_EQ(ReplicasFor(1, Product(2048, kernel, weights)), 8);
  EXPECT_EQ(ReplicasFor(2, Product(2048, kernel, weights)), 4);
  EXPECT_EQ(ReplicasFor(2, Product(255, kernel, weights)), 1) << "weights of less than 4 MB";
  EXPECT_EQ(ReplicasFor(2, Product(2048, kernel, "infeed:1")), 1) << "weights of each core";
  EXPECT_EQ(ReplicasFor(2, Product(2048, "onednn_f32", weights)), 1);
  // Sums over the rows.
  const std::string sums =
      Product(2048, kernel, weights, "precision=3, transpose_x=true", "4096,8");
  EXPECT_EQ(ReplicasFor(2, sums), 1);
}

TEST(SpanReplicas, MoreScratchMemoryIsBehindThatOfTheProgram) {
  const CoreProgram program = SpannedFor(2, Text(8, "gemm_plain"));
  const Instruction& lstm = *program.Instructions()[0];
  EXPECT_GT(lstm.plan.scratch_bytes, kScratch);
  EXPECT_EQ(lstm.scratch.offset, 4096);
  EXPECT_EQ(program.worker_bytes, 4096 + Aligned(lstm.plan.scratch_bytes));
}

}  // namespace
}  // namespace tpurun
