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
periodic period=1 after phase 0
  copy {} "out" per_core parts=8 rows=1 kernel="reference"
    <- shared:64 f32[4]
    -> outfeed:0 f32[4]
)";

std::string VerifyWith(const std::string& from, const std::string& to,
                       const std::string& sound = kSound) {
  const std::string text = absl::StrReplaceAll(sound, {{from, to}});
  EXPECT_TRUE(from.empty() || text != sound) << "nothing replaced: " << from;
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

TEST(VerifyProgram, UnpartitionedInstructionsRaceUnlessTheyHaveOnePart) {
  const std::string both =
      absl::StrReplaceAll(kSound, {{"\"c\" parts=1 rows=4", "\"c\" parts=1 rows=4 first_part=3"},
                                   {"\"d\" parts=1 rows=4", "\"d\" parts=1 rows=4 first_part=3"}});
  EXPECT_EQ(VerifyWith("", "", both), "");
  const auto program = ParseProgram(both, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->step[1].parts(), 4);
  EXPECT_NE(PrintProgram(*program).find("first_part=3"), std::string::npos);
  EXPECT_EQ(VerifyWith("\"d\" parts=1 rows=4 first_part=3", "\"d\" parts=1 rows=4", both),
            "program step phase 1: add \"d\": \"c\" and \"d\" meet at shared:64 in one phase, in "
            "different parts");
  EXPECT_EQ(
      VerifyWith("\"a\" per_core parts=8 rows=1", "\"a\" per_core parts=8 rows=1 first_part=1"),
      "program step phase 0: neg \"a\": cannot begin at part 1");
  EXPECT_EQ(VerifyWith("\"d\" parts=1 rows=4", "\"d\" parts=1 rows=4 first_part=64"),
            "program step phase 1: add \"d\": cannot begin at part 64");
}

TEST(VerifyProgram, PartsWithAStepMeetOnlyPartsWithTheSame) {
  const std::string both =
      absl::StrReplaceAll(kSound, {{"\"c\" parts=1 rows=4", "\"c\" parts=2 rows=4 part_step=2"},
                                   {"\"d\" parts=1 rows=4", "\"d\" parts=2 rows=4 part_step=2"}});
  EXPECT_EQ(VerifyWith("", "", both), "");
  const auto program = ParseProgram(both, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->step[1].parts(), 3);
  EXPECT_EQ(VerifyWith("\"d\" parts=2 rows=4 part_step=2", "\"d\" parts=2 rows=4", both),
            "program step phase 1: add \"d\": \"c\" and \"d\" meet at shared:64 in one phase, in "
            "different parts");
  EXPECT_EQ(VerifyWith("\"d\" parts=1 rows=4", "\"d\" parts=1 rows=4 part_step=2"),
            "program step phase 1: add \"d\": cannot have its parts 2 apart");
  EXPECT_EQ(
      VerifyWith("\"d\" parts=2 rows=4 part_step=2", "\"d\" parts=2 rows=4 part_step=64", both),
      "program step phase 1: add \"d\": cannot have its parts 64 apart");
}

// The gradient of a kernel, cut over its output channels, and a reader of it, cut in rows.
constexpr char kColumns[] = R"(program "p" replicas=1 machine="x86_64" library="tpurun"
arena shared=73728 core=0 worker=0
infeed 0 "x" f32[8,8,8,32]
infeed 1 "dy" f32[8,8,8,32]
prologue phase 0
step phase 0
  conv2d_filter_grad {kernel_dims=[3,3,32,32], pads=[1,1,1,1], precision=3, strides=[1,1]} "dk" parts=2 columns=32 kernel="reference"
    <- infeed:0 f32[8,8,8,32], infeed:1 f32[8,8,8,32]
    -> shared:0 f32[3,3,32,32]
step phase 1
  neg {} "update" parts=2 rows=3 kernel="reference"
    <- shared:0 f32[3,3,32,32]
    -> shared:36864 f32[3,3,32,32]
)";

TEST(VerifyProgram, ColumnsAreNotRows) {
  EXPECT_EQ(VerifyWith("", "", kColumns), "");
  const auto program = ParseProgram(kColumns, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(PrintProgram(*program), kColumns);
  EXPECT_EQ(VerifyWith("step phase 1\n", "", kColumns),
            "program step phase 0: neg \"update\": \"dk\" and \"update\" meet at shared:0 in one "
            "phase, in different parts");
  EXPECT_EQ(VerifyWith("columns=32", "rows=32", kColumns),
            "program step phase 0: conv2d_filter_grad \"dk\": is cut along another dimension than "
            "its op allows");
  EXPECT_EQ(VerifyWith("rows=3", "columns=32", kColumns),
            "program step phase 1: neg \"update\": is cut along another dimension than its op "
            "allows");
}

// Part p of "dk" reads what part p of "minus" writes: 2 of 8 images, a group of 4.
constexpr char kGroups[] = R"(program "p" replicas=1 machine="x86_64" library="tpurun"
arena shared=81920 core=0 worker=0
infeed 0 "x" f32[8,8,8,4]
infeed 1 "dy" f32[8,8,8,4]
prologue phase 0
step phase 0
  neg {} "minus" parts=4 rows=8 kernel="reference"
    <- infeed:1 f32[8,8,8,4]
    -> shared:0 f32[8,8,8,4]
  conv2d_filter_grad {batch_dims=1, kernel_dims=[3,3,4,4], pads=[1,1,1,1], precision=3, strides=[1,1]} "dk" parts=4 rows=4 kernel="reference"
    <- infeed:0 f32[4,2,8,8,4], shared:0 f32[4,2,8,8,4]
    -> shared:32768 f32[4,3,3,4,4]
)";

TEST(VerifyProgram, GroupsOfRowsAreInThePartsOfTheirRows) {
  EXPECT_EQ(VerifyWith("", "", kGroups), "");
  const std::string race =
      "program step phase 0: conv2d_filter_grad \"dk\": \"minus\" and \"dk\" meet at shared:0 in "
      "one phase, in different parts";
  EXPECT_EQ(VerifyWith("parts=4 rows=4", "parts=2 rows=4", kGroups), race);
  EXPECT_EQ(VerifyWith("\"minus\" parts=4 rows=8", "\"minus\" parts=4 rows=6", kGroups), race);
  // What is written has no rows of examples.
  EXPECT_EQ(VerifyWith("\"minus\" parts=4 rows=8", "\"minus\" parts=4 rows=16", kGroups), race);
}

// "c" takes the place of "a", which "b" has read: part p of both is the same bytes.
constexpr char kShares[] = R"(program "p" replicas=1 machine="x86_64" library="tpurun"
arena shared=320 core=0 worker=0
infeed 0 "x" f32[4,8]
prologue phase 0
step phase 0
  neg {} "a" parts=2 rows=4 kernel="reference"
    <- infeed:0 f32[4,8]
    -> shared:0 f32[4,8]
  neg {} "b" parts=2 rows=4 kernel="reference"
    <- shared:0 f32[4,8]
    -> shared:192 f32[4,8]
  neg {} "c" parts=2 rows=4 kernel="reference"
    <- shared:192 f32[4,8]
    -> shared:0 f32[4,8]
)";

TEST(VerifyProgram, APartTakesItsOwnBytesAlone) {
  EXPECT_EQ(VerifyWith("", "", kShares), "");
  EXPECT_EQ(VerifyWith("    <- shared:192 f32[4,8]\n    -> shared:0 f32[4,8]",
                       "    <- shared:192 f32[4,8]\n    -> shared:64 f32[4,8]", kShares),
            "program step phase 0: neg \"c\": \"a\" and \"c\" meet at shared:0 in one phase, in "
            "different parts");
}

// What several cores compute in one call.
constexpr char kJoined[] = R"(program "p" replicas=8 machine="x86_64" library="tpurun"
arena shared=0 core=0 worker=0
variable 0 "w" f32[2,2] constant(0)
infeed 0 "x" f32[4,3,2]
infeed 1 "h0" f32[4,2]
outfeed 0 "y" f32[4,3,2]
prologue phase 0
step phase 0
  simple_rnn {activation="tanh", precision=3} "y" per_core replicas_per_call=4 parts=8 rows=1 kernel="reference"
    <- infeed:0 f32[4,3,2], variable:0 f32[2,2], infeed:1 f32[4,2]
    -> outfeed:0 f32[4,3,2]
)";

TEST(VerifyProgram, PartsAreJoinedEvenly) {
  EXPECT_EQ(VerifyWith("", "", kJoined), "");
  const auto program = ParseProgram(kJoined, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(PrintProgram(*program), kJoined);
  EXPECT_EQ(VerifyWith("replicas_per_call=4", "replicas_per_call=3", kJoined),
            "program step phase 0: simple_rnn \"y\": cannot join 3 parts");
  EXPECT_EQ(VerifyWith("replicas_per_call=4", "replicas_per_call=16", kJoined),
            "program step phase 0: simple_rnn \"y\": cannot join 16 parts");
  EXPECT_EQ(
      VerifyWith("<- infeed:0 f32[4,3,2], variable:0 f32[2,2], infeed:1 f32[4,2]",
                 "<- infeed:0 f32[4,3,2]",
                 absl::StrReplaceAll(
                     kJoined, {{"simple_rnn {activation=\"tanh\", precision=3}", "tanh {}"}})),
      "program step phase 0: tanh \"y\": cannot join 4 parts");
}

TEST(VerifyProgram, OnlyProductsOfSharedWeightsSpanReplicas) {
  const std::string product = R"(program "p" replicas=8 machine="x86_64" library="tpurun"
arena shared=0 core=0 worker=4096
variable 0 "w" f32[4,4] constant(0)
infeed 0 "x" f32[4,4]
infeed 1 "v" f32[4,4]
outfeed 0 "y" f32[4,4]
prologue phase 0
step phase 0
  matmul {precision=3} "y" per_core replicas_per_call=4 parts=8 rows=1 kernel="gemm_plain" scratch=worker:0+4096
    <- infeed:0 f32[4,4], variable:0 f32[4,4]
    -> outfeed:0 f32[4,4]
)";
  const std::string error = "program step phase 0: matmul \"y\": cannot join 4 parts";
  EXPECT_EQ(VerifyWith("", "", product), "");
  EXPECT_EQ(VerifyWith(", variable:0", ", infeed:1", product), error);
  EXPECT_EQ(VerifyWith("precision=3", "precision=3, transpose_x=true", product), error);
  EXPECT_EQ(VerifyWith("\"gemm_plain\"", "\"reference\"", product), error);
}

// A product with a bias whose x may come in bf16 and whose y may come packed.
constexpr char kProduct[] = R"(program "p" replicas=1 machine="x86_64" library="tpurun"
arena shared=0 core=0 worker=65536
infeed 0 "x" f32[4,8]
infeed 1 "y" f32[8,16]
infeed 2 "bias" f32[16]
outfeed 0 "z" f32[4,16]
prologue phase 0
step phase 0
  matmul {precision=0} "z" parts=4 rows=4 kernel="gemm_plain" scratch=worker:0+65536
    <- infeed:0 f32[4,8], infeed:1 f32[8,16], infeed:2 f32[16]
    -> outfeed:0 f32[4,16]
)";

TEST(VerifyProgram, AKernelIsGivenWhatItsPlanTakes) {
  EXPECT_EQ(VerifyWith("", "", kProduct), "");
  EXPECT_EQ(VerifyWith("infeed:0 f32[4,8], infeed:1 f32[8,16], infeed:2 f32[16]",
                       "infeed:0 bf16[4,8], infeed:1 f32[8,16]",
                       absl::StrReplaceAll(kProduct, {{"\"x\" f32[4,8]", "\"x\" bf16[4,8]"}})),
            "program step phase 0: matmul \"z\": its kernel \"gemm_plain\" takes no bf16[4,8]");
  EXPECT_EQ(VerifyWith("infeed:1 f32[8,16], infeed:2 f32[16]",
                       "infeed:1 f32[8,16]{blocked_s16_s1:512}", kProduct),
            "program step phase 0: matmul \"z\": its kernel \"gemm_plain\" takes no "
            "f32[8,16]{blocked_s16_s1:512}");
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
      "program step phase 1: constant \"again\": overwrites what \"one\" wrote in the prologue");
}

TEST(VerifyProgram, ACollectiveReadsEveryCore) {
  const std::string place = "program step phase 1: cross_replica_sum \"c\": ";
  EXPECT_EQ(VerifyWith(", core7:0 f32[4]", ""), place + "cannot have 7 operands, 8 copies of each");
  EXPECT_EQ(VerifyWith("core7:0 f32[4]", "core6:0 f32[4]"),
            place + "takes core6:0 f32[4], want core7:0 f32[4]");
  EXPECT_EQ(VerifyWith("<- core0:0 f32[4]", "<- core:0 f32[4]"),
            place + "takes core:0 f32[4], want core0:0 f32[4]");
  EXPECT_EQ(VerifyWith("core7:0 f32[4]", "core7:0 f32[3]"),
            place + "takes core7:0 f32[3], want core7:0 f32[4]");
}

TEST(VerifyProgram, AnInstructionHasTheOperandsOfItsOp) {
  EXPECT_EQ(VerifyWith("    <- shared:64 f32[4], variable:0 f32[4]", "    <- shared:64 f32[4]"),
            "program step phase 1: add \"d\": cannot have 1 operands, 1 copies of each");
}

// The prologue reads variable 0, which the step overwrites in "d".
TEST(VerifyProgram, WhatThePrologueComputesOfAVariableIsCarriedBehindItsUpdate) {
  const std::string twice =
      "  neg {} \"twice\" parts=1 rows=4 kernel=\"reference\"\n"
      "    <- variable:0 f32[4]\n"
      "    -> shared:128 f32[4]\n";
  const std::string prologue = "prologue phase 0\n", update = "  add {} \"d\"";
  const std::string end = "periodic period=1";
  const auto verify = [&](const std::string& before_update, const std::string& behind) {
    std::string text = absl::StrReplaceAll(kSound, {{"arena shared=128", "arena shared=192"},
                                                    {prologue, prologue + twice},
                                                    {update, before_update + update},
                                                    {end, behind + end}});
    const auto program = ParseProgram(text, FindOpByName);
    if (!program.ok()) return std::string(program.status().message());
    return std::string(VerifyProgram(*program).message());
  };
  const std::string error =
      "neg \"twice\" is not computed again for the next step, behind what its operands come from "
      "and "
      "what reads its results";
  EXPECT_EQ(verify("", twice), "");
  EXPECT_EQ(verify("", ""), error);
  EXPECT_EQ(verify(twice, ""), error);
  const std::string reader =
      "  neg {} \"late\" parts=1 rows=4 kernel=\"reference\"\n"
      "    <- shared:128 f32[4]\n"
      "    -> shared:64 f32[4]\n";
  EXPECT_EQ(verify("", reader + twice), "");
  EXPECT_EQ(verify("", twice + reader), error);
}

TEST(VerifyProgram, SlotsAndVariablesExist) {
  EXPECT_EQ(VerifyWith("infeed:0", "infeed:1"),
            "program step phase 0: neg \"a\": infeed:1 does not exist or is not f32[4]");
  EXPECT_EQ(VerifyWith("variable:0 f32[4]", "variable:0 f32[5]"),
            "program step phase 1: add \"d\": variable:0 does not exist or is not f32[5]");
}

TEST(VerifyProgram, GuardsAndTheLossAreInRange) {
  EXPECT_EQ(VerifyWith("period=1", "period=0"),
            "periodic sections want 1 <= period, in ascending order");
  EXPECT_EQ(VerifyWith("after 0", "after 2"), "the loss is computed in no phase");
}

// "e" reads in a range of `period` what "d2" wrote in one of 4.
TEST(VerifyProgram, WhatIsWrittenAtSomeStepsIsReadAtTheseOnly) {
  const auto verify = [](const std::string& period, const std::string& target) {
    const std::string writer =
        "periodic period=4 before phase 0\n"
        "  copy {} \"d2\" parts=1 rows=1 kernel=\"reference\"\n"
        "    <- variable:0 f32[4]\n"
        "    -> " +
        target + " f32[4]\n";
    const std::string reader = "periodic period=" + period +
                               " after phase 0\n"
                               "  copy {} \"e\" parts=1 rows=1 kernel=\"reference\"\n"
                               "    <- shared:128 f32[4]\n"
                               "    -> shared:64 f32[4]\n";
    const std::string text =
        absl::StrReplaceAll(kSound, {{"arena shared=128", "arena shared=192"}}) + writer + reader;
    const auto program = ParseProgram(text, FindOpByName);
    if (!program.ok()) return std::string(program.status().message());
    return std::string(VerifyProgram(*program).message());
  };
  EXPECT_EQ(verify("8", "shared:128"), "");
  EXPECT_EQ(
      verify("6", "shared:128"),
      "program periodic period=6 phase 0: copy \"e\": reads shared:128, which is written every "
      "4 steps only");
  EXPECT_EQ(verify("8", "variable:0"),
            "program periodic period=4 phase 0: copy \"d2\": writes a variable at some steps only");
}

TEST(ProgramText, AnErrorNamesItsLine) {
  EXPECT_EQ(VerifyWith("replicas=8", "replicas=0"),
            "line 1: want program \"name\" replicas=N machine=\"...\" library=\"...\"");
  EXPECT_EQ(VerifyWith("neg {}", "no_such_op {}"), "line 12: there is no op \"no_such_op\"");
  EXPECT_EQ(VerifyWith("arena shared=", "arena share="),
            "line 2: want arena shared=N core=N worker=N");
}

}  // namespace
}  // namespace tpurun
