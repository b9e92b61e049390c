// One call for the rows of several cores.
#include "runtime/program/join_replicas.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/ops/op_list.h"
#include "runtime/program/program_text.h"
#include "runtime/program/verify_program.h"

namespace tpurun {
namespace {

// One phase of 8 cores, whose worker memory is `worker` bytes: x = infeed 0, f32[16,4].
std::string Header(int64_t worker) {
  return absl::StrCat(
      "program \"p\" replicas=8 machine=\"x86_64\" library=\"tpurun\"\n"
      "arena shared=64 core=256 worker=",
      worker, "\ninfeed 0 \"x\" f32[16,4]\ninfeed 1 \"s\" f32[]\n",
      "variable 0 \"v\" f32[4] constant(0)\nstep phase 0\n");
}

std::string PerCore(const std::string& op, const std::vector<std::string>& operands,
                    const std::string& result) {
  std::string text = absl::StrCat("  ", op, " \"", op.substr(0, op.find(' ')),
                                  "\" per_core parts=8 rows=1 kernel=\"reference\"\n    <- ");
  for (size_t i = 0; i < operands.size(); ++i)
    absl::StrAppend(&text, i > 0 ? ", " : "", operands[i]);
  return absl::StrCat(text, "\n    -> ", result, "\n");
}

// neg of x, then exp of that.
std::string TwoRows(int64_t worker = 512) {
  return absl::StrCat(Header(worker),
                      PerCore("neg {}", {"infeed:0 f32[16,4]"}, "worker:0 f32[16,4]"),
                      PerCore("exp {}", {"worker:0 f32[16,4]"}, "worker:256 f32[16,4]"));
}

CoreProgram JoinedFor(int workers, const std::string& text) {
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  EXPECT_TRUE(program.ok()) << program.status() << text;
  if (!program.ok()) return {};
  EXPECT_TRUE(VerifyProgram(*program).ok()) << VerifyProgram(*program);
  JoinReplicas(workers, *program);
  return *std::move(program);
}

using Joined = std::vector<int>;

// The replicas of a call of each instruction; 1 of those that do not join rows.
Joined CallsFor(int workers, const std::string& text) {
  const CoreProgram program = JoinedFor(workers, text);
  Joined joined;
  for (const Instruction* instruction : program.Instructions()) {
    EXPECT_EQ(instruction->joins_rows, instruction->replicas_per_call > 1);
    joined.push_back(instruction->replicas_per_call);
  }
  return joined;
}

TEST(JoinReplicas, AWorkerHasOneCallForItsCores) {
  EXPECT_EQ(CallsFor(1, TwoRows()), (Joined{8, 8}));
  EXPECT_EQ(CallsFor(2, TwoRows()), (Joined{4, 4}));
  EXPECT_EQ(CallsFor(4, TwoRows()), (Joined{2, 2}));
  EXPECT_EQ(CallsFor(8, TwoRows()), (Joined{1, 1}));
  EXPECT_EQ(CallsFor(16, TwoRows()), (Joined{1, 1}));
}

TEST(JoinReplicas, CoresThatWorkersCannotShareEquallyStay) {
  EXPECT_EQ(CallsFor(3, TwoRows()), (Joined{1, 1}));
}

TEST(JoinReplicas, ValuesOfTheCoresFollowEachOther) {
  const CoreProgram program = JoinedFor(2, TwoRows());
  const Instruction& exp = *program.Instructions()[1];
  EXPECT_EQ(exp.operands[0].shape.ToString(), "f32[64,4]");
  EXPECT_EQ(exp.operands[0].buffer.offset, 0);
  EXPECT_EQ(exp.results[0].buffer.offset, 4 * 256);
  EXPECT_EQ(exp.results[0].buffer.part_stride, 256);
}

TEST(JoinReplicas, LargeMemoryStays) {
  EXPECT_EQ(CallsFor(2, TwoRows(64 << 10)), (Joined{4, 4}));
  EXPECT_EQ(CallsFor(2, TwoRows(65 << 10)), (Joined{1, 1}));
}

TEST(JoinReplicas, TheCostIsThatOfAllCores) {
  const auto before = ParseProgram(TwoRows(), FindOpByName);
  ASSERT_TRUE(before.ok()) << before.status();
  const CoreProgram after = JoinedFor(2, TwoRows());
  for (size_t i = 0; i < 2; ++i) {
    const Cost want = CostOfInstruction(*before->Instructions()[i], 8);
    const Cost got = CostOfInstruction(*after.Instructions()[i], 8);
    EXPECT_EQ(want.bytes(), 8 * 2 * 256);
    EXPECT_EQ(got.bytes(), want.bytes());
    EXPECT_EQ(got.flops(), want.flops());
  }
}

TEST(JoinReplicas, ASumOfRowsIsACallOfEachCore) {
  const std::string text = absl::StrCat(
      TwoRows(), PerCore("reduce_sum {axes=[0]}", {"worker:256 f32[16,4]"}, "core:0 f32[4]"));
  EXPECT_EQ(CallsFor(2, text), (Joined{4, 4, 1}));
  const CoreProgram program = JoinedFor(2, text);
  const Operand& rows = program.Instructions()[2]->operands[0];
  EXPECT_EQ(rows.shape.ToString(), "f32[16,4]");
  EXPECT_EQ(rows.buffer.offset, 4 * 256);
  EXPECT_EQ(rows.buffer.part_stride, 256);
}

TEST(JoinReplicas, ARowThatAllCoresShareGoesWithAllRows) {
  const std::string add =
      PerCore("add {}", {"worker:0 f32[16,4]", "variable:0 f32[4]"}, "worker:256 f32[16,4]");
  const std::string neg = PerCore("neg {}", {"infeed:0 f32[16,4]"}, "worker:0 f32[16,4]");
  EXPECT_EQ(CallsFor(2, Header(512) + neg + add), (Joined{4, 4}));
}

TEST(JoinReplicas, AScalarOfACoreDoesNotGoWithTheRowsOfOthers) {
  const std::string mul =
      PerCore("mul {}", {"worker:0 f32[16,4]", "infeed:1 f32[]"}, "worker:256 f32[16,4]");
  const std::string neg = PerCore("neg {}", {"infeed:0 f32[16,4]"}, "worker:0 f32[16,4]");
  EXPECT_EQ(CallsFor(2, Header(512) + neg + mul), (Joined{4, 1}));
}

TEST(JoinReplicas, ValuesOfCoresThatLiveOnDoNotFollowEachOther) {
  const std::string text =
      absl::StrCat(TwoRows(), PerCore("neg {}", {"worker:256 f32[16,4]"}, "core:0 f32[16,4]"));
  EXPECT_EQ(CallsFor(2, text), (Joined{4, 4, 1}));
}

TEST(JoinReplicas, RowsWithAGapBehindTheLastAreNotJoined) {
  // 3 x 1 floats of a core end within a line of 64 bytes.
  const std::string text = absl::StrCat(
      "program \"p\" replicas=8 machine=\"x86_64\" library=\"tpurun\"\n"
      "arena shared=0 core=0 worker=512\ninfeed 0 \"x\" f32[3,1]\nstep phase 0\n",
      PerCore("neg {}", {"infeed:0 f32[3,1]"}, "worker:0 f32[3,1]"));
  EXPECT_EQ(CallsFor(2, text), Joined{1});
}

TEST(JoinReplicas, APhaseWhoseValueTakesTheFirstPartOfAnotherStays) {
  // The result of a core would be written over the operand of the next.
  const std::string text = absl::StrCat(
      TwoRows(), PerCore("reduce_sum {axes=[1]}", {"worker:256 f32[16,4]"}, "worker:256 f32[16]"));
  EXPECT_EQ(CallsFor(2, text), (Joined{1, 1, 1}));
  EXPECT_EQ(JoinedFor(2, text).Instructions()[0]->results[0].buffer.part_stride, 0);
}

TEST(JoinReplicas, AKernelThatWouldHaveOtherWeightsIsJoinedLikeAnyOther) {
  const std::string text = absl::StrCat(
      "program \"p\" replicas=8 machine=\"x86_64\" library=\"tpurun\"\n"
      "arena shared=0 core=0 worker=65536\ninfeed 0 \"x\" f32[16,4]\n"
      "variable 0 \"w\" f32[4,300] constant(0)\nstep phase 0\n",
      PerCore("matmul {precision=3}", {"infeed:0 f32[16,4]", "variable:0 f32[4,300]"},
              "worker:0 f32[16,300]"));
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  Instruction& matmul = program->step[0].instructions[0];
  matmul.plan = PlanKernel(CallOfInstruction(matmul, program->num_replicas),
                           *Machine::Parse(program->machine));
  EXPECT_EQ(matmul.plan.name(), "gemm_plain");
  ASSERT_FALSE(matmul.plan.best_operands.empty());
  EXPECT_NE(matmul.plan.best_operands[1], matmul.operands[1].shape);
  JoinReplicas(2, *program);
  EXPECT_EQ(program->step[0].instructions[0].replicas_per_call, 4);
}

TEST(JoinReplicas, APhaseWithASharedInstructionStays) {
  const std::string text =
      absl::StrCat(TwoRows(),
                   "  neg {} \"n\" parts=1 rows=4 kernel=\"reference\"\n    <- variable:0 f32[4]\n"
                   "    -> shared:0 f32[4]\n");
  EXPECT_EQ(CallsFor(2, text), (Joined{1, 1, 1}));
}

}  // namespace
}  // namespace tpurun
