// The calls of a program for several workers, and for one of them alone.
#include "runtime/program/fit_to_workers.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/ops/op_list.h"
#include "runtime/program/program_text.h"
#include "runtime/program/verify_program.h"

namespace tpurun {
namespace {

// neg of so many rows of 4 on each of 8 cores.
CoreProgram Negation(int64_t rows) {
  const std::string text = absl::StrCat(
      "program \"p\" replicas=8 machine=\"x86_64\" library=\"tpurun\"\n"
      "arena shared=64 core=256 worker=",
      rows * 16, "\ninfeed 0 \"x\" f32[", rows, ",4]\nstep phase 0\n",
      "  neg {} \"neg\" per_core parts=8 rows=1 kernel=\"reference\"\n    <- infeed:0 f32[", rows,
      ",4]\n    -> worker:0 f32[", rows, ",4]\n");
  absl::StatusOr<CoreProgram> program = ParseProgram(text, FindOpByName);
  EXPECT_TRUE(program.ok()) << program.status() << text;
  EXPECT_TRUE(VerifyProgram(*program).ok()) << VerifyProgram(*program);
  return *std::move(program);
}

TEST(FitToWorkers, AWorkerHasOneCallForItsCores) {
  CoreProgram program = Negation(16);
  FitToWorkers(2, program);
  EXPECT_EQ(program.step[0].instructions[0].replicas_per_call, 4);
}

TEST(FitToWorkers, OneWorkerHasOneCallForAllCores) {
  const std::optional<CoreProgram> alone = FitToOneWorker(Negation(16));
  ASSERT_TRUE(alone.has_value());
  EXPECT_EQ(alone->step[0].instructions[0].replicas_per_call, 8);
}

TEST(FitToWorkers, StepsWithOutputsAreNotForOneWorker) {
  CoreProgram program = Negation(16);
  program.periodic.resize(1);
  program.periodic[0].period = 2;
  EXPECT_TRUE(FitToOneWorker(program).has_value());
  program.periodic[0].period = 1;
  EXPECT_FALSE(FitToOneWorker(program).has_value());
}

TEST(FitToWorkers, MuchWorkIsNotForOneWorker) {
  EXPECT_FALSE(FitToOneWorker(Negation(1 << 16)).has_value());
}

}  // namespace
}  // namespace tpurun
