// Costs of calls, which were counted by hand. A multiplication and an addition are 2 flops.
#include "gtest/gtest.h"
#include "runtime/ir/attrs.h"
#include "runtime/ir/op_def.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

constexpr int64_t kDefault = 0, kHigh = 1, kF32 = 3;  // precisions

Shape F32(std::vector<int64_t> dims) { return Shape{DType::kF32, std::move(dims)}; }
Shape Bf16(std::vector<int64_t> dims) { return Shape{DType::kBF16, std::move(dims)}; }
Shape S32(std::vector<int64_t> dims) { return Shape{DType::kS32, std::move(dims)}; }

OpCall CallOf(const std::string& op, const Attrs& attrs, const std::vector<Shape>& operands) {
  OpCall call{.op = FindOpByName(op), .attrs = attrs, .operands = operands};
  const absl::StatusOr<std::vector<Shape>> results = call.op->infer_shape(operands, attrs);
  EXPECT_TRUE(results.ok()) << results.status();
  if (results.ok()) call.results = *results;
  call.needed.assign(call.results.size(), true);
  return call;
}

void ExpectCost(const OpCall& call, const Cost& want) {
  const Cost cost = CostOf(call);
  EXPECT_EQ(cost.matrix_flops, want.matrix_flops);
  EXPECT_EQ(cost.vector_flops, want.vector_flops);
  EXPECT_EQ(cost.transcendentals, want.transcendentals);
  EXPECT_EQ(cost.bytes_read, want.bytes_read);
  EXPECT_EQ(cost.bytes_written, want.bytes_written);
}

// (3, 4) (4, 5): 15 sums of 4 products.
TEST(OpCostTest, MatMul) {
  ExpectCost(CallOf("matmul", {{"precision", kDefault}}, {F32({3, 4}), F32({4, 5})}),
             {.matrix_flops = 120, .bytes_read = (12 + 20) * 4, .bytes_written = 15 * 4});
}

TEST(OpCostTest, MatMulWithBias) {
  ExpectCost(
      CallOf("matmul", {{"precision", kF32}}, {F32({3, 4}), F32({4, 5}), F32({5})}),
      {.matrix_flops = 120, .vector_flops = 15, .bytes_read = 37 * 4, .bytes_written = 15 * 4});
}

// HIGH is three products of bf16 parts.
TEST(OpCostTest, MatMulOfHighPrecision) {
  EXPECT_EQ(
      CostOf(CallOf("matmul", {{"precision", kHigh}}, {F32({3, 4}), F32({4, 5})})).matrix_flops,
      3 * 120);
}

TEST(OpCostTest, BytesAreThoseThatAreStored) {
  OpCall call = CallOf("matmul", {{"precision", kDefault}}, {F32({3, 4}), F32({4, 5})});
  call.operands[0] = Bf16({3, 4});
  ExpectCost(call, {.matrix_flops = 120, .bytes_read = 12 * 2 + 20 * 4, .bytes_written = 15 * 4});
}

// 2 images of 6 x 6, a 3 x 3 filter from 4 to 8 channels, without padding: 2 x 4 x 4 x 8 sums of 36
// products.
TEST(OpCostTest, Conv2d) {
  const Attrs attrs = {{"precision", kDefault},
                       {"strides", std::vector<int64_t>{1, 1}},
                       {"pads", std::vector<int64_t>{0, 0, 0, 0}}};
  ExpectCost(CallOf("conv2d", attrs, {F32({2, 6, 6, 4}), F32({3, 3, 4, 8}), F32({8})}),
             {.matrix_flops = 256 * 36 * 2,
              .vector_flops = 256,
              .bytes_read = (288 + 288 + 8) * 4,
              .bytes_written = 256 * 4});
}

// Padding counts as the image does, as in TensorFlow's profiler: 9 sums of 9 products.
TEST(OpCostTest, Conv2dWithPadding) {
  const Attrs attrs = {{"precision", kDefault},
                       {"strides", std::vector<int64_t>{1, 1}},
                       {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  EXPECT_EQ(CostOf(CallOf("conv2d", attrs, {F32({1, 3, 3, 1}), F32({3, 3, 1, 1})})).matrix_flops,
            9 * 9 * 2);
}

// 2 rows, 5 steps, 3 units: in each step a product (2, 3) (3, 12). A step of a unit adds x to four
// products, makes 3 operations for c and 1 for h, and calls five activation functions.
TEST(OpCostTest, Lstm) {
  const Attrs attrs = {{"precision", kDefault},
                       {"activation", std::string("tanh")},
                       {"recurrent_activation", std::string("sigmoid")}};
  const OpCall call =
      CallOf("lstm", attrs, {F32({2, 5, 12}), F32({3, 12}), F32({2, 3}), F32({2, 3})});
  ExpectCost(call, {.matrix_flops = 5 * 2 * 12 * 3 * 2,
                    .vector_flops = 5 * 2 * 3 * 8,
                    .transcendentals = 5 * 2 * 3 * 5,
                    .bytes_read = (120 + 36 + 6 + 6) * 4,
                    // h, c and the gates of every step
                    .bytes_written = (30 + 30 + 120) * 4});
}

// 2 rows of 3 queries, 5 keys, 4 heads of width 8, values of width 8: 120 scores, each a product of
// 8 and a weight of 8 values. The softmax of a score is an exp and 4 operations.
TEST(OpCostTest, Attention) {
  const Attrs attrs = {{"precision", kDefault}, {"scale", 0.5}};
  const OpCall call =
      CallOf("attention", attrs, {F32({2, 3, 4, 8}), F32({2, 5, 4, 8}), F32({2, 5, 4, 8})});
  ExpectCost(call, {.matrix_flops = 120 * 16 * 2,
                    .vector_flops = 120 * 4,
                    .transcendentals = 120,
                    .bytes_read = (192 + 320 + 320) * 4,
                    // y, and two numbers for each query and head
                    .bytes_written = (192 + 48) * 4});
}

// Reads the rows that it takes, not the table.
TEST(OpCostTest, Gather) {
  ExpectCost(CallOf("gather", {}, {F32({1000, 16}), S32({7})}),
             {.bytes_read = 7 * 16 * 4 + 7 * 4, .bytes_written = 7 * 16 * 4});
}

TEST(OpCostTest, Tanh) {
  ExpectCost(CallOf("tanh", {}, {F32({10, 10})}),
             {.transcendentals = 100, .bytes_read = 400, .bytes_written = 400});
}

// A result that nobody reads is not written.
TEST(OpCostTest, ResultsThatAreNotNeeded) {
  const Attrs attrs = {{"precision", kDefault}, {"scale", 0.5}};
  OpCall call =
      CallOf("attention", attrs, {F32({2, 3, 4, 8}), F32({2, 5, 4, 8}), F32({2, 5, 4, 8})});
  call.needed[1] = false;
  EXPECT_EQ(CostOf(call).bytes_written, 192 * 4);
}

TEST(OpCostTest, CopiesOfAPlanAreWrittenAndRead) {
  const OpCall call = CallOf("matmul", {{"precision", kDefault}}, {F32({3, 4}), F32({4, 5})});
  const Cost plain = CostOf(call), copied = CostOf(call, KernelOffer{.copied_bytes = 64});
  EXPECT_EQ(copied.bytes_read, plain.bytes_read + 64);
  EXPECT_EQ(copied.bytes_written, plain.bytes_written + 64);
  EXPECT_EQ(copied.matrix_flops, plain.matrix_flops);
}

}  // namespace
}  // namespace tpurun
