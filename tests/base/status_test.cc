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

TEST(Annotate, KeepsTheLinesOfAList) {
  const absl::Status list = Annotate(ErrorList({"a", "b\nc"}), "f\n");
  EXPECT_EQ(list.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorLines(list), ElementsAre("f\\n: a", "b\\nc"));
  EXPECT_THAT(ErrorLines(Annotate(absl::DataLossError("a\nb"), "f")), ElementsAre("f: a\\nb"));
  EXPECT_EQ(Annotate(absl::OkStatus(), "f"), absl::OkStatus());
}

}  // namespace
}  // namespace tpurun
