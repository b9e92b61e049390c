#include "runtime/compiler/cost.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

Cost StepCost(const std::string& text) {
  const absl::StatusOr<Graph> graph = ParseGraph(text, FindOpByName);
  EXPECT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<Cost> cost = CostOfStep(*graph);
  EXPECT_TRUE(cost.ok()) << cost.status();
  return *cost;
}

// x (4, 3) times w (3, 2) on each core, its sum over the cores once.
constexpr char kGraph[] = R"(infeed 0 "x" f32[4,3]
variable "w" f32[3,2] constant(1)
%0 = infeed {dims=[4,3], dtype=f32, slot=0} : f32[4,3] "x"
%1 = variable {dims=[3,2], dtype=f32, variable="w"} : f32[3,2] "w/read"
%2 = matmul %0, %1 {precision=0} : f32[4,2] "y"
%3 = relu %2 {} : f32[4,2] "unread"
%4 = cross_replica_sum %2 {} : f32[4,2] "sum"
output "sum" %4
)";

TEST(CostTest, WhatIsSharedIsComputedOnce) {
  const Cost cost = StepCost(absl::StrCat("graph \"g\" replicas=8\n", kGraph));
  EXPECT_EQ(cost.flops(), 8 * (2 * 4 * 3 * 2) + 7 * (4 * 2));
  EXPECT_EQ(cost.bytes(), 8 * 4 * (4 * 3 + 3 * 2 + 4 * 2) + 4 * (8 + 1) * (4 * 2));
}

TEST(CostTest, OneReplicaHasNothingToShare) {
  const Cost cost = StepCost(absl::StrCat("graph \"g\" replicas=1\n", kGraph));
  EXPECT_EQ(cost.flops(), 2 * 4 * 3 * 2);
  EXPECT_EQ(cost.bytes(), 4 * (4 * 3 + 3 * 2 + 4 * 2) + 4 * 2 * (4 * 2));
}

}  // namespace
}  // namespace tpurun
