// The graph of one process out of that of all: its collectives, on paper.
#include "runtime/compiler/partition_processes.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

constexpr char kAll[] = R"(graph "all" replicas=16
infeed 0 "x" f32[2,3]
%0 = infeed {dims=[2,3], dtype=f32, slot=0} : f32[2,3] ""
%1 = cross_replica_sum %0 {} : f32[2,3] "sum"
%2 = cross_replica_sum %0 {groups=[0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1]} : f32[2,2,3] "groups"
%3 = cross_replica_concat %0 {replicas=16} : f32[32,3] "concat"
%4 = replica_id {} : s32[] ""
%5 = row_of_group %2, %4 {groups=[0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1]} : f32[2,3] ""
output "sum" %1
output "concat" %3
output "row" %5
)";

// The replicas 8 to 15.
constexpr char kOfProcess1Of2[] = R"(graph "all" replicas=8 first=8 all=16
infeed 0 "x" f32[2,3]
%0 = infeed {dims=[2,3], dtype=f32, slot=0} : f32[2,3] ""
%1 = cross_replica_sum %0 {} : f32[2,3] "sum"
%2 = cross_process_sum %1 {processes=2} : f32[2,3] "sum"
%3 = cross_replica_sum %0 {groups=[0,1,2,3,4,5,6,7]} : f32[8,2,3] "groups"
%4 = cross_process_concat %3 {processes=2} : f32[16,2,3] "groups"
%5 = group_sums %4 {groups=[0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1]} : f32[2,2,3] "groups"
%6 = cross_replica_concat %0 {replicas=8} : f32[16,3] "concat"
%7 = cross_process_concat %6 {processes=2} : f32[32,3] "concat"
%8 = replica_id {} : s32[] ""
%9 = row_of_group %5, %8 {groups=[0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1]} : f32[2,3] ""
output "sum" %2
output "concat" %7
output "row" %9
)";

TEST(PartitionProcessesTest, EachCollectiveBecomesOneOfTheProcessAndOneOfAll) {
  const auto all = ParseGraph(kAll, FindOpByName);
  ASSERT_TRUE(all.ok()) << all.status();
  const auto of_process = PartitionProcesses(*all, 2, 1);
  ASSERT_TRUE(of_process.ok()) << of_process.status();
  EXPECT_EQ(PrintGraph(*of_process), kOfProcess1Of2);
  const auto parsed = ParseGraph(kOfProcess1Of2, FindOpByName);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->replicas(), (ReplicaRange{8, 8, 16}));
}

TEST(PartitionProcessesTest, OneProcessHasTheGraphAsItIs) {
  const auto all = ParseGraph(kAll, FindOpByName);
  ASSERT_TRUE(all.ok()) << all.status();
  const auto same = PartitionProcesses(*all, 1, 0);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(PrintGraph(*same), PrintGraph(*all));
}

TEST(PartitionProcessesTest, ReplicasThatCannotBeSharedAreRefused) {
  const auto all = ParseGraph(kAll, FindOpByName);
  ASSERT_TRUE(all.ok()) << all.status();
  for (const int processes : {3, 6, 32}) {
    const auto refused = PartitionProcesses(*all, processes, 0);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
    EXPECT_TRUE(absl::StrContains(refused.status().message(), "16 replicas")) << refused.status();
  }
}

}  // namespace
}  // namespace tpurun
