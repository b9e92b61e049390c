#include "runtime/base/names.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

void Expect(NameKind kind, const std::vector<std::string>& good,
            const std::vector<std::string>& bad) {
  for (const std::string& name : good) EXPECT_EQ(CheckName(kind, name), absl::OkStatus()) << name;
  for (const std::string& name : bad) {
    EXPECT_EQ(CheckName(kind, name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(CheckName, OfAFileHasNoFolder) {
  Expect(NameKind::kFile, {"test", "a_B-9.x", "...", "-x", ".x"},
         {"", ".", "..", "../../x", "a/b", "/", "a b", "a\n", "f\xC3\xBCr", std::string("a\0b", 3),
          "a\\b"});
}

TEST(CheckName, OfAVariableHasParts) {
  Expect(NameKind::kVariable, {"dense", "block_1/dense-2", "a/b/c", ".5", "9", "a/_b"},
         {"", "/", "a/", "/a", "a//b", "a/../b", "..", "./a", "a/.", "_a", "-a", "a b", "a\n",
          "a\\b", "a:0"});
}

TEST(CheckName, OfAKeyIsPrintable) {
  Expect(NameKind::kKey, {"image/class/label", "a b", "f\xC3\xBCr", "..", "\"", "%s"},
         {"", "a\nb", "\x1b[2J", "\x7f", "\xC2\x9B", "\xFF", "\xE2\x80\xAE"});
}

TEST(CheckName, SaysWhatItGotEscaped) {
  EXPECT_EQ(CheckName(NameKind::kFile, "a/\x1b").message(),
            "got the name \"a/\\033\", want letters, digits and _ . -, but not \".\" or \"..\"");
}

}  // namespace
}  // namespace tpurun
