// What OpDef::tpu says of products, beside the cost that summary and profile read.
#include "runtime/ir/tpu_work.h"

#include <gtest/gtest.h>

#include "runtime/compiler/rewrite.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

double ProductFlops(const OpCall& call) {
  double flops = 0;
  for (const TpuStage& stage : TpuWorkOf(call).stages) {
    for (const TpuProduct& product : stage.products) {
      flops += product.flops();
    }
  }
  return flops;
}

TEST(TpuWork, HasTheFlopsOfProducts) {
  GraphBuilder b{Graph("g", 1)};
  const auto input = [&](std::vector<int64_t> dims) {
    return Constant(b, DType::kF32, std::move(dims), 1);
  };
  for (const Precision precision : {Precision::kDefault, Precision::kHigh, Precision::kHighest}) {
    MatMul(b, input({3, 5}), input({5, 7}), precision);
    MatMul(b, input({5, 3}), input({7, 5}), precision, true, true);
    BatchMatMul(b, input({2, 4, 3, 5}), input({2, 4, 5, 7}), precision);
    Conv2d(b, input({2, 9, 8, 6}), input({3, 2, 6, 4}), {2, 1}, {1, 0, 0, 1}, precision);
    Conv2dTranspose(b, input({2, 4, 4, 6}), input({3, 3, 5, 6}), {8, 8}, {2, 2}, {0, 1, 0, 1},
                    precision);
  }
  AttentionArgs attention;
  Attend(b, input({2, 5, 3, 4}), input({2, 6, 3, 4}), input({2, 6, 3, 7}), {}, attention);
  ASSERT_TRUE(b.status().ok()) << b.status();
  int products = 0;
  for (const Node& node : b.graph().nodes()) {
    const OpCall call = CallOfNode(b.graph(), node);
    EXPECT_EQ(ProductFlops(call), CostOf(call).matrix_flops) << node.op->name << " " << node.id;
    products += CostOf(call).matrix_flops > 0;
  }
  EXPECT_EQ(products, 16);
}

// Eight groups of two channels are one product, whose zeros are no flops.
TEST(TpuWork, PacksGroups) {
  GraphBuilder b{Graph("g", 1)};
  const Value x = Constant(b, DType::kF32, {1, 4, 4, 16}, 1);
  const Value kernel = Constant(b, DType::kF32, {1, 1, 2, 16}, 1);
  const Value y = Conv2d(b, x, kernel, {1, 1}, {0, 0, 0, 0}, Precision::kDefault);
  ASSERT_TRUE(b.status().ok()) << b.status();
  const OpCall call = CallOfNode(b.graph(), b.graph().nodes()[y.node]);
  EXPECT_EQ(ProductFlops(call), CostOf(call).matrix_flops);
  const TpuProduct product = TpuWorkOf(call).stages[0].products[0];
  EXPECT_EQ(product.k, 16);
  EXPECT_EQ(product.n, 16);
  EXPECT_EQ(product.density, 1.0 / 8);
  // A channel each: the vector unit's.
  const Value single = Constant(b, DType::kF32, {1, 1, 1, 16}, 1);
  const Value z = Conv2d(b, x, single, {1, 1}, {0, 0, 0, 0}, Precision::kDefault);
  const OpCall depthwise = CallOfNode(b.graph(), b.graph().nodes()[z.node]);
  EXPECT_EQ(ProductFlops(depthwise), 0);
  EXPECT_EQ(TpuWorkOf(depthwise).stages[0].vector_flops, CostOf(depthwise).matrix_flops);
}

}  // namespace
}  // namespace tpurun
