// Parts of programs for few workers.
#include "runtime/program/combine_parts.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/ops/op_list.h"
#include "runtime/program/program_text.h"
#include "runtime/program/verify_program.h"

namespace tpurun {
namespace {

// One phase: exp of f32[rows] in `parts` parts, then `second`.
std::string Text(int64_t rows, int parts, const std::string& second) {
  return absl::StrCat(
      "program \"p\" replicas=1 machine=\"x86_64\" library=\"tpurun\"\narena shared=", 32 * rows,
      " core=0 worker=0\ninfeed 0 \"x\" f32[", rows,
      "]\nstep phase 0\n  exp {} \"a\" parts=", parts, " rows=", rows,
      " kernel=\"reference\"\n    <- infeed:0 f32[", rows, "]\n    -> shared:0 f32[", rows, "]\n",
      second);
}

// `parts` of the instructions for so many workers.
std::vector<int> PartsFor(int workers, const std::string& text) {
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  EXPECT_TRUE(program.ok()) << program.status() << text;
  if (!program.ok()) return {};
  CombineParts(workers, *program);
  EXPECT_TRUE(VerifyProgram(*program).ok()) << VerifyProgram(*program);
  std::vector<int> parts;
  for (const Instruction* instruction : program->Instructions())
    parts.push_back(instruction->parts);
  return parts;
}

using Parts = std::vector<int>;

TEST(CombineParts, AWorkerHasOnePartOfLittleWork) {
  const std::string text = Text(64, 8, "");
  EXPECT_EQ(PartsFor(1, text), Parts{1});
  EXPECT_EQ(PartsFor(2, text), Parts{2});
  EXPECT_EQ(PartsFor(4, text), Parts{4});
  EXPECT_EQ(PartsFor(8, text), Parts{8});
  EXPECT_EQ(PartsFor(16, text), Parts{8});
}

TEST(CombineParts, AWorkerHasTwoPartsOfMuchWork) {
  const std::string text = Text(1 << 20, 8, "");
  EXPECT_EQ(PartsFor(2, text), Parts{4});
  EXPECT_EQ(PartsFor(4, text), Parts{8});
}

// A recurrence, however much work its phase has.
TEST(CombineParts, AWorkerHasOnePartOfRowsThatCostLessWhereThereAreMore) {
  const std::string rnn =
      R"(  simple_rnn {activation="tanh", precision=3} "b" parts=8 rows=64 kernel="gemm_plain" scratch=worker:0+64
    <- infeed:1 f32[64,2,4], infeed:2 f32[4,4], infeed:3 f32[64,4]
    -> shared:16777216 f32[64,2,4]
)";
  std::string text = Text(1 << 20, 8, rnn);
  text.insert(text.find("step phase"),
              "infeed 1 \"y\" f32[64,2,4]\ninfeed 2 \"w\" f32[4,4]\ninfeed 3 \"h\" f32[64,4]\n");
  text = absl::StrReplaceAll(text, {{"worker=0", "worker=64"}});
  EXPECT_EQ(PartsFor(2, text), (Parts{2, 2}));
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  CombineParts(2, *program);
  const Instruction& larger = *program->Instructions()[1];
  EXPECT_GT(larger.plan.scratch_bytes, 64);
  EXPECT_EQ(larger.scratch.offset, 64);
  EXPECT_EQ(program->worker_bytes, 64 + Aligned(larger.plan.scratch_bytes));
}

// Each part of 64 rows reads weights of so many columns whole.
TEST(CombineParts, AWorkerHasOnePartOfRowsThatReadMostlyWeights) {
  const auto parts = [](int64_t columns) {
    const std::string text = absl::StrCat(
        "program \"p\" replicas=1 machine=\"x86_64\" library=\"tpurun\"\narena shared=67108864 "
        "core=0 worker=1048576\ninfeed 0 \"x\" f32[64,4096]\ninfeed 1 \"w\" f32[4096,",
        columns,
        "]\nstep phase 0\n  matmul {precision=3} \"a\" parts=8 rows=64 kernel=\"gemm_plain\" "
        "scratch=worker:0+1048576\n    <- infeed:0 f32[64,4096], infeed:1 f32[4096,",
        columns, "]\n    -> shared:0 f32[64,", columns, "]\n");
    return PartsFor(2, text);
  };
  EXPECT_EQ(parts(4096), Parts{2});
  EXPECT_EQ(parts(257), Parts{2});
  EXPECT_EQ(parts(255), Parts{4}) << "weights of less than 4 MB";
  EXPECT_EQ(parts(40), Parts{4}) << "more bytes of rows";
}

// It has 8 copies of each operand.
TEST(CombineParts, ACollectiveHasNoWeights) {
  std::string copies;
  for (const char* const operand : {":0 f32[8,1024]", ":1 f32[8,2048]"}) {
    for (int core = 0; core < 8; ++core)
      absl::StrAppend(&copies, copies.empty() ? "" : ", ", "infeed", core, operand);
  }
  const std::string text = absl::StrCat(
      "program \"p\" replicas=8 machine=\"x86_64\" library=\"tpurun\"\narena shared=8388608 core=0 "
      "worker=1048576\ninfeed 0 \"x\" f32[8,1024]\ninfeed 1 \"y\" f32[8,2048]\nstep phase 0\n"
      "  cross_replica_matmul {precision=3, transpose_x=true} \"a\" parts=8 rows=1024 "
      "kernel=\"gemm_plain\" scratch=worker:0+1048576\n    <- ",
      copies, "\n    -> shared:0 f32[1024,2048]\n");
  EXPECT_EQ(PartsFor(2, text), Parts{4});
}

TEST(CombineParts, UnpartitionedInstructionsGoWithTheirPart) {
  const std::string text =
      absl::StrReplaceAll(Text(64, 1, ""), {{"rows=64", "rows=64 first_part=5"}});
  for (const auto& [workers, first_part] : {std::pair(1, 0), {2, 1}, {4, 2}, {8, 5}, {3, 5}}) {
    absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
    ASSERT_TRUE(program.ok()) << program.status();
    CombineParts(workers, *program);
    EXPECT_EQ(program->Instructions()[0]->first_part, first_part) << workers << " workers";
    EXPECT_EQ(program->Instructions()[0]->parts, 1);
  }
}

// Each of two workers has parts [0, 2) or [2, 4) of the phase, each of four two of 8.
TEST(CombineParts, FewerPartsThanThePhaseHasAreSpreadOverTheWorkers) {
  struct Case {
    int workers, parts, want_parts, want_step;
  };
  for (const Case& c : {Case{1, 2, 1, 1},
                        {2, 2, 2, 2},
                        {2, 4, 2, 2},
                        {2, 3, 2, 2},
                        {4, 2, 2, 4},
                        {4, 4, 4, 2},
                        {8, 2, 2, 4}}) {
    SCOPED_TRACE(absl::StrCat(c.parts, " parts, ", c.workers, " workers"));
    const std::string few =
        absl::StrCat("  neg {} \"b\" parts=", c.parts,
                     " rows=64 kernel=\"reference\"\n"
                     "    <- infeed:1 f32[64]\n    -> shared:8388608 f32[64]\n");
    std::string text = Text(1 << 20, 8, few);
    text.insert(text.find("step phase"), "infeed 1 \"y\" f32[64]\n");
    absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
    ASSERT_TRUE(program.ok()) << program.status();
    const int phase_parts = c.workers == 1 ? 1 : c.workers == 2 ? 4 : 8;
    CombineParts(c.workers, *program);
    EXPECT_EQ(VerifyProgram(*program).ToString(), "OK");
    const Instruction& spread = *program->Instructions()[1];
    EXPECT_EQ(spread.parts, c.want_parts);
    EXPECT_EQ(spread.part_step, c.want_step);
    EXPECT_EQ(program->step[0].parts(), phase_parts);
    const absl::StatusOr<CoreProgram> again = ParseProgram(PrintProgram(*program), FindOpByName);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->Instructions()[1]->part_step, c.want_step);
  }
}

// "neg" has groups of the rows of "exp". Beside them an instruction of 6 or 8 parts.
TEST(CombineParts, GroupsOfRowsStayInThePartsOfTheirRows) {
  for (const int phase_parts : {6, 8}) {
    for (const int parts : {2, 4, 8}) {
      if (parts > phase_parts) continue;
      const std::string groups = absl::StrCat(
          "  neg {} \"b\" parts=", parts, " rows=", parts,
          " kernel=\"reference\"\n    <- shared:0 f32[", parts, ",", 480 / parts,
          "]\n    -> shared:8192 f32[", parts, ",", 480 / parts,
          "]\n  exp {} \"c\" parts=", phase_parts,
          " rows=96 kernel=\"reference\"\n    <- infeed:1 f32[96]\n    -> shared:4096 f32[96]\n");
      std::string text = Text(480, parts, groups);
      text.insert(text.find("step phase"), "infeed 1 \"y\" f32[96]\n");
      for (const int workers : {1, 2, 3, 4, 8}) {
        SCOPED_TRACE(absl::StrCat(parts, " of ", phase_parts, " parts, ", workers, " workers"));
        const Parts combined = PartsFor(workers, text);  // and no race
        ASSERT_EQ(combined.size(), 3);
        EXPECT_EQ(combined[0], combined[1]);
        EXPECT_EQ(parts % combined[0], 0);
      }
    }
  }
}

TEST(CombineParts, OneWorkerHasNobodyToLeaveAPartTo) {
  EXPECT_EQ(PartsFor(1, Text(1 << 20, 8, "")), Parts{1});
}

TEST(CombineParts, PartsThatWorkersCannotShareEquallyStay) {
  EXPECT_EQ(PartsFor(3, Text(64, 8, "")), Parts{8});
  EXPECT_EQ(PartsFor(2, Text(64, 5, "")), Parts{5});
}

TEST(CombineParts, APhaseHasOneDivision) {
  const std::string same = R"(  neg {} "b" parts=8 rows=64 kernel="reference"
    <- shared:0 f32[64]
    -> shared:256 f32[64]
)";
  EXPECT_EQ(PartsFor(2, Text(64, 8, same)), (Parts{2, 2}));
  const std::string whole = R"(  neg {} "b" parts=1 rows=1 kernel="reference"
    <- infeed:0 f32[64]
    -> shared:256 f32[64]
)";
  EXPECT_EQ(PartsFor(2, Text(64, 8, whole)), (Parts{2, 1}));
}

TEST(CombineParts, AKernelForTheSizeOfAPartKeepsThePartsOfItsPhase) {
  const std::string library = R"(  matmul {precision=3} "b" parts=8 rows=64 kernel="onednn_f32"
    <- infeed:1 f32[64,4], infeed:2 f32[4,4]
    -> shared:512 f32[64,4]
)";
  std::string text = Text(64, 8, library);
  text.insert(text.find("step phase"), "infeed 1 \"y\" f32[64,4]\ninfeed 2 \"z\" f32[4,4]\n");
  EXPECT_EQ(PartsFor(2, text), (Parts{8, 8}));
  const std::string own = absl::StrReplaceAll(text, {{"onednn_f32", "gemm_plain"}});
  EXPECT_EQ(PartsFor(2, own), (Parts{2, 2}));
}

// The scratch memory of a conversion is that of a part.
TEST(CombineParts, AConversionKeepsThePartsOfItsPhase) {
  const std::string converted = R"(  neg {} "b" parts=8 rows=64 kernel="reference" converts_bf16
    <- infeed:1 bf16[64]
    -> shared:256 f32[64]
)";
  std::string text = Text(64, 8, converted);
  text.insert(text.find("step phase"), "infeed 1 \"y\" bf16[64]\n");
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  CombineParts(2, *program);
  for (const Instruction* instruction : program->Instructions()) EXPECT_EQ(instruction->parts, 8);
}

// Each part of a gradient of weights packs all of the operand that it does not divide.
TEST(CombineParts, FewerPartsCopyLess) {
  const std::string text = R"(program "p" replicas=1 machine="x86_64" library="tpurun"
arena shared=12288 core=0 worker=131072
infeed 0 "x" f32[64,32]
infeed 1 "dy" f32[64,96]
step phase 0
  matmul {precision=3, transpose_x=true} "dw" parts=4 rows=32 kernel="gemm_plain" copies=1 scratch=worker:0+131072
    <- infeed:0 f32[64,32], infeed:1 f32[64,96]
    -> shared:0 f32[32,96]
)";
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  CombineParts(2, *program);
  // x once, and y in each part, in f32.
  EXPECT_EQ(program->step[0].instructions[0].parts, 2);
  EXPECT_EQ(program->step[0].instructions[0].plan.copied_bytes, (64 * 32 + 2 * 64 * 96) * 4);
}

TEST(CombineParts, AllSectionsAreCombined) {
  std::string text = Text(64, 8, "");
  const size_t step = text.find("step phase 0\n");
  const std::string phase = text.substr(step + std::string("step phase 0\n").size());
  text.insert(step, "prologue phase 0\n" +
                        absl::StrReplaceAll(
                            phase, {{"infeed:0", "shared:0"}, {"shared:0", "shared:1024"}}));
  for (const char* place : {"before", "after"})
    text += absl::StrCat("periodic period=2 ", place, " phase 0\n", phase);
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  CombineParts(2, *program);
  ASSERT_EQ(program->Instructions().size(), 4u);
  for (const Instruction* instruction : program->Instructions()) EXPECT_EQ(instruction->parts, 2);
}

TEST(CombineParts, PerCoreInstructionsKeepThePartsOfTheirPhase) {
  std::string text =
      absl::StrReplaceAll(Text(64, 8, R"(  neg {} "b" per_core parts=8 rows=1 kernel="reference"
    <- infeed:0 f32[64]
    -> shared:512 f32[64]
)"),
                          {{"replicas=1", "replicas=8"}});
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  ASSERT_TRUE(program.ok()) << program.status();
  CombineParts(2, *program);
  for (const Instruction* instruction : program->Instructions()) EXPECT_EQ(instruction->parts, 8);
}

}  // namespace
}  // namespace tpurun
