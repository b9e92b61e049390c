// What the program verifier must see: each text is sound but for one thing.
#include "runtime/program/verify_program.h"

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/ops/op_list.h"
#include "runtime/program/program_text.h"

namespace tpurun {
namespace {

// Core values meet in a sum, the sum goes into a variable.
constexpr char kSound[] = R"(program "p" replicas=8 machine="x86_64" library="tpurun"
arena shared=128 core=128 worker=64
variable 0 "v" f32[4] constant(0)
infeed 0 "x" f32[4]
outfeed 0 "sum" f32[4]
loss core:64 after 0
prologue phase 0
  constant {dims=[4], dtype=f32, value=[1f]} "one" parts=1 rows=4 kernel="reference"
    <-
    -> shared:0 f32[4]
step phase 0
  neg {} "a" per_core parts=8 rows=1 kernel="reference"
    <- infeed:0 f32[4]
    -> worker:0 f32[4]
  add {} "b" per_core parts=8 rows=1 kernel="reference"
    <- worker:0 f32[4], shared:0 f32[4]
    -> core:0 f32[4]
  sum_of_elements {} "loss" per_core parts=8 rows=1 kernel="reference"
    <- core:0 f32[4]
    -> core:64 f32[]
step phase 1
  cross_replica_sum {} "c" parts=1 rows=4 kernel="reference"
    <- core0:0 f32[4], core1:0 f32[4], core2:0 f32[4], core3:0 f32[4], core4:0 f32[4], core5:0 f32[4], core6:0 f32[4], core7:0 f32[4]
    -> shared:64 f32[4]
  add {} "d" parts=1 rows=4 kernel="reference"
    <- shared:64 f32[4], variable:0 f32[4]
    -> variable:0 f32[4]
guarded every=1 offset=0 phase 0
  copy {} "out" per_core parts=8 rows=1 kernel="reference"
    <- shared:64 f32[4]
    -> outfeed:0 f32[4]
)";

std::string VerifyWith(const std::string& from, const std::string& to) {
  const std::string text = absl::StrReplaceAll(kSound, {{from, to}});
  EXPECT_TRUE(from.empty() || text != kSound) << "nothing replaced: " << from;
  const auto program = ParseProgram(text, FindOpByName);
  if (!program.ok()) return std::string(program.status().message());
  return std::string(VerifyProgram(*program).message());
}

TEST(VerifyProgram, ASoundProgramPassesAndItsTextParsesBack) {
  const auto program = ParseProgram(kSound, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(VerifyProgram(*program).ok()) << VerifyProgram(*program);
  const auto again = ParseProgram(PrintProgram(*program), FindOpByName);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintProgram(*again), PrintProgram(*program));
}

TEST(VerifyProgram, AMissingBarrierIsARace) {
  EXPECT_EQ(
      VerifyWith("step phase 1\n", ""),
      "program step phase 0: cross_replica_sum \"c\": \"b\" and \"c\" meet at core:0 in one phase, "
      "in different parts");
}

TEST(VerifyProgram, PartsThatDoNotAgreeRace) {
  EXPECT_EQ(VerifyWith("add {} \"d\" parts=1", "add {} \"d\" parts=2"),
            "program step phase 1: add \"d\": \"c\" and \"d\" meet at shared:64 in one phase, in "
            "different "
            "parts");
}

TEST(VerifyProgram, AValueIsWrittenBeforeItIsRead) {
  EXPECT_EQ(VerifyWith("    -> worker:0 f32[4]", "    -> core:0 f32[4]"),
            "program step phase 0: add \"b\": reads worker:0, which nothing has written");
  EXPECT_EQ(
      VerifyWith("    <- worker:0 f32[4], shared:0", "    <- worker:0 f32[2], shared:0"),
      "program step phase 0: add \"b\": reads worker:0 f32[2], which holds f32[4] at worker:0");
}

TEST(VerifyProgram, WhatAWorkerKeepsDiesWithThePhase) {
  EXPECT_EQ(VerifyWith("step phase 1\n",
                       "step phase 1\n  neg {} \"late\" per_core parts=8 rows=1 "
                       "kernel=\"reference\"\n    <- worker:0 f32[4]\n    -> core:0 f32[4]\n"),
            "program step phase 1: neg \"late\": reads worker:0, which nothing has written");
}

TEST(VerifyProgram, BuffersLieAlignedInTheirArenas) {
  EXPECT_EQ(
      VerifyWith("arena shared=128", "arena shared=64"),
      "program step phase 1: cross_replica_sum \"c\": shared:64 f32[4] is unaligned or outside its "
      "arena of 64 bytes");
  EXPECT_EQ(
      VerifyWith("worker:0", "worker:32"),
      "program step phase 0: neg \"a\": worker:32 f32[4] is unaligned or outside its arena of 64 "
      "bytes");
}

TEST(VerifyProgram, TheStepKeepsWhatThePrologueWrote) {
  const std::string one =
      "  constant {dims=[4], dtype=f32, value=[1f]} \"again\" parts=1 rows=4 kernel=\"reference\"\n"
      "    <-\n"
      "    -> shared:0 f32[4]\n";
  const std::string phase = "step phase 1\n";
  EXPECT_EQ(VerifyWith(phase, phase + one), "");
  EXPECT_EQ(
      VerifyWith(phase, phase + absl::StrReplaceAll(one, {{"1f", "2f"}})),
      "program step phase 1: constant \"again\": overwrites what \"one\" wrote in the prologue "
      "at shared:0");
}

TEST(VerifyProgram, ACollectiveReadsEveryCore) {
  EXPECT_EQ(VerifyWith(", core7:0 f32[4]", ""),
            "program step phase 1: cross_replica_sum \"c\": has 7 operands, want a multiple of 8");
  EXPECT_EQ(VerifyWith("core7:0 f32[4]", "core7:0 f32[3]"),
            "program step phase 1: cross_replica_sum \"c\": takes f32[4] of one core and f32[3] of "
            "another");
}

TEST(VerifyProgram, SlotsAndVariablesExist) {
  EXPECT_EQ(VerifyWith("infeed:0", "infeed:1"),
            "program step phase 0: neg \"a\": infeed:1 does not exist or is not f32[4]");
  EXPECT_EQ(VerifyWith("variable:0 f32[4]", "variable:0 f32[5]"),
            "program step phase 1: add \"d\": variable:0 does not exist or is not f32[5]");
}

TEST(VerifyProgram, GuardsAndTheLossAreInRange) {
  EXPECT_EQ(VerifyWith("every=1 offset=0", "every=1 offset=1"),
            "a guarded range wants 0 <= offset < every");
  EXPECT_EQ(VerifyWith("after 0", "after 2"), "the loss is computed in no phase");
}

TEST(ProgramText, AnErrorNamesItsLine) {
  EXPECT_EQ(VerifyWith("neg {}", "no_such_op {}"), "line 12: there is no op \"no_such_op\"");
  EXPECT_EQ(VerifyWith("arena shared=", "arena share="),
            "line 2: want arena shared=N core=N worker=N");
}

}  // namespace
}  // namespace tpurun
