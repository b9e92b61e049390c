#include "runtime/estimator/placement.h"

#include "gtest/gtest.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

using Lines = std::vector<std::string>;

Phase PhaseOf(const std::string& name, const std::string& op, bool per_core) {
  return {
      .instructions = {Instruction{.name = name, .op = FindOpByName(op), .per_core = per_core}}};
}

// A program with something in each of its parts.
CoreProgram Program(int num_replicas) {
  return {.num_replicas = num_replicas,
          .variables = {{.name = "logits/kernel"}, {.name = "moving_mean", .per_core = true}},
          .infeed = {{"image", {}}},
          .outfeed = {{.name = "loss"}},
          .prologue = {PhaseOf("logits/pack", "pack", false)},
          .step = {PhaseOf("logits/MatMul", "matmul", true), PhaseOf("", "mul", false)},
          .periodic = {{.before = {PhaseOf("norms/Square", "square", false)},
                        .after = {PhaseOf("loss/outfeed", "copy", true)}}}};
}

TEST(PlacementTest, IsOfEachPartInTheOrderOfTheProgram) {
  EXPECT_EQ(PlacementOf(Program(8)),
            (Lines{"logits/kernel: (variable): shared", "moving_mean: (variable): core",
                   "image: (infeed): host", "logits/pack: (pack): shared",
                   "norms/Square: (square): shared", "logits/MatMul: (matmul): core",
                   "mul: (mul): shared", "loss/outfeed: (copy): core", "loss: (outfeed): host"}));
}

TEST(PlacementTest, OfOneReplicaAllIsOnTheHost) {
  const Lines lines = PlacementOf(Program(1));
  EXPECT_EQ(lines.size(), PlacementOf(Program(8)).size());
  for (const std::string& line : lines) EXPECT_TRUE(line.ends_with("): host")) << line;
}

}  // namespace
}  // namespace tpurun
