#include "runtime/base/status.h"

#include <gmock/gmock.h>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;

TEST(ErrorLines, ALineBreakOfAListIsOne) {
  EXPECT_EQ(ErrorList({}), absl::OkStatus());
  const absl::Status list = ErrorList({"a.txt:1: x", "b"});
  EXPECT_EQ(list.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(list.message(), "a.txt:1: x\nb");
  EXPECT_THAT(ErrorLines(list), ElementsAre("a.txt:1: x", "b"));
}

TEST(ErrorLines, ALineBreakOfANameIsNone) {
  EXPECT_THAT(ErrorLines(absl::NotFoundError("no file a\ntpurun: b\x1b[2J")),
              ElementsAre("no file a\\ntpurun: b\\033[2J"));
  EXPECT_THAT(ErrorLines(ErrorList({"a\nb", "c"})), ElementsAre("a\\nb", "c"));
}

TEST(ErrorLines, AListHasTheCodeThatItIsGiven) {
  const absl::Status list = ErrorList({"a", "b"}, absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ExitCode(list), 3);
  EXPECT_THAT(ErrorLines(list), ElementsAre("a", "b"));
  EXPECT_TRUE(IsErrorList(list));
  EXPECT_FALSE(IsErrorList(absl::UnimplementedError("a")));
}

TEST(WarningsError, HasAnExitCodeOfItsOwn) {
  EXPECT_EQ(WarningsError(0), absl::OkStatus());
  EXPECT_EQ(ExitCode(WarningsError(1)), 5);
  EXPECT_EQ(WarningsError(1).message(), "1 warning, and --strict wants none");
  EXPECT_EQ(WarningsError(2).message(), "2 warnings, and --strict wants none");
  EXPECT_EQ(ExitCode(Annotate(WarningsError(1), "f")), 5);
}

TEST(Annotate, KeepsTheLinesOfAList) {
  const absl::Status list = Annotate(ErrorList({"a", "b\nc"}), "f\n");
  EXPECT_EQ(list.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorLines(list), ElementsAre("f\\n: a", "b\\nc"));
  EXPECT_THAT(ErrorLines(Annotate(absl::DataLossError("a\nb"), "f")), ElementsAre("f: a\\nb"));
  EXPECT_EQ(Annotate(absl::OkStatus(), "f"), absl::OkStatus());
}

}  // namespace
}  // namespace tpurun
