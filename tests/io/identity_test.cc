#include "runtime/io/identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/io/file.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

std::string OfList(const std::vector<std::string>& texts) {
  ListIdentity identity;
  for (const std::string& text : texts) identity.Add(text);
  return identity.text();
}

TEST(IdentityTest, AListIsItsTextsAndTheirLimits) {
  EXPECT_EQ(OfList({}), "0 00000000");
  // CRC-32C of 8 zero bytes, the length of the empty text.
  EXPECT_EQ(OfList({""}), "1 8c28b28a");
  EXPECT_EQ(OfList({"a", "bc"}), OfList({"a", "bc"}));
  EXPECT_NE(OfList({"a", "bc"}), OfList({"ab", "c"}));
  EXPECT_NE(OfList({"a", "bc"}), OfList({"bc", "a"}));
}

TEST(IdentityTest, AStampIsTheSizeAndTheTime) {
  const TempDir dir;
  const std::string path = dir.Path("f");
  EXPECT_EQ(FileStamp(path), "absent");
  ASSERT_TRUE(WriteFileAtomically(path, "abc").ok());
  const timespec times[] = {{0, 0}, {1234567890, 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(FileStamp(path), "3 1234567890.000000005");
}

}  // namespace
}  // namespace tpurun
