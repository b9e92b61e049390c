#include "runtime/io/numbered_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/io/file.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using Names = std::vector<std::string>;

class NumberedDirectoryTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<NumberedDirectory>> Create() {
    return NumberedDirectory::Create(
        base_, {.seconds = [this] { return now_; }, .wait_second = [this] { ++now_; }});
  }
  void WriteInto(const NumberedDirectory& dir) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(dir.path(), "model"), "bytes").ok());
  }
  Names There() const { return ListDirectory(base_).value(); }

  TempDir temp_;
  const std::string base_ = temp_.Path("models/export");
  int64_t now_ = 1700000000;
};

TEST_F(NumberedDirectoryTest, HasItsNameOnlyWhenItIsPublished) {
  const auto dir = Create();
  ASSERT_TRUE(dir.ok()) << dir.status();
  WriteInto(**dir);
  EXPECT_EQ(There(), Names{"temp-1700000000"});
  const auto path = (*dir)->Publish();
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(*path, JoinPath(base_, "1700000000"));
  EXPECT_EQ(There(), Names{"1700000000"});
  EXPECT_EQ(ReadFile(JoinPath(*path, "model")).value(), "bytes");
}

TEST_F(NumberedDirectoryTest, IsGoneWhenItIsNotPublished) {
  WriteInto(**Create());
  EXPECT_EQ(There(), Names{});
}

TEST_F(NumberedDirectoryTest, WaitsForASecondThatIsFree) {
  std::filesystem::create_directories(JoinPath(base_, "1700000000"));
  const auto building = Create();
  ASSERT_TRUE(building.ok());
  now_ = 1700000000;
  const auto dir = Create();
  ASSERT_TRUE(dir.ok());
  EXPECT_EQ((*dir)->Publish().value(), JoinPath(base_, "1700000002"));
  // What is being built was left alone.
  EXPECT_EQ(There(), (Names{"1700000000", "1700000002", "temp-1700000001"}));
}

TEST_F(NumberedDirectoryTest, GivesUpAfterTenSeconds) {
  std::vector<std::unique_ptr<NumberedDirectory>> building;
  for (int i = 0; i < 11; ++i) {
    now_ = 1700000000 + i;
    building.push_back(*Create());
  }
  now_ = 1700000000;
  const auto dir = Create();
  EXPECT_EQ(dir.status().code(), absl::StatusCode::kPermissionDenied) << dir.status();
}

TEST_F(NumberedDirectoryTest, ComesBehindOneOfAClockThatWasAhead) {
  for (const char* const name : {"1700009999", "99999999999999999999"})
    std::filesystem::create_directories(JoinPath(base_, name));
  EXPECT_EQ((*Create())->Publish().value(), JoinPath(base_, "1700010000"));
  ASSERT_TRUE((*Create())->Publish().ok());
  EXPECT_EQ(There(), (Names{"1700009999", "1700010000", "1700010001", "99999999999999999999"}));
  // What is no number of seconds is left alone.
  ASSERT_TRUE(KeepNewest(base_, 1).ok());
  EXPECT_EQ(There(), (Names{"1700010001", "99999999999999999999"}));
}

TEST_F(NumberedDirectoryTest, RemovesWhatKilledProcessesLeftAndNothingElse) {
  for (const char* name : {"temp-1699999999", "temp-", "temp-mine", "1699999998", "notes"}) {
    std::filesystem::create_directories(JoinPath(base_, name));
    ASSERT_TRUE(WriteFileAtomically(JoinPath(JoinPath(base_, name), "model"), "bytes").ok());
  }
  ASSERT_TRUE((*Create())->Publish().ok());
  EXPECT_EQ(There(), (Names{"1699999998", "1700000000", "notes", "temp-", "temp-mine"}));
}

TEST_F(NumberedDirectoryTest, FilesAreComparedByNameAndBytes) {
  const auto make = [&](const std::string& dir, const std::string& file, const std::string& bytes) {
    const std::string path = JoinPath(temp_.Path(dir), file);
    std::filesystem::create_directories(DirName(path));
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
  };
  const std::string large(200000, 'x');
  for (const char* const dir : {"a", "b", "c", "d", "e"}) make(dir, "below/large", large);
  make("c", "below/large", large.substr(1) + "y");
  make("d", "more", "");
  make("e", "below/large", large + "x");
  const auto are_equal = [&](const char* x, const char* y) {
    return HaveEqualFiles(temp_.Path(x), temp_.Path(y));
  };
  EXPECT_TRUE(are_equal("a", "b"));
  for (const char* const other : {"c", "d", "e"}) EXPECT_FALSE(are_equal("a", other)) << other;
  EXPECT_FALSE(are_equal("a", "absent"));
  std::filesystem::create_symlink("nowhere", temp_.Path("b/dangling"));
  EXPECT_FALSE(are_equal("b", "b"));
}

TEST_F(NumberedDirectoryTest, KeepsTheLargestNumbers) {
  EXPECT_TRUE(NumberedDirectories(base_).empty());
  EXPECT_TRUE(KeepNewest(base_, 2).ok());
  for (const char* name : {"99", "1000", "101", "temp-7", "onnx", "12x"}) {
    ASSERT_TRUE(MakeDirectories(JoinPath(base_, name)).ok());
    ASSERT_TRUE(WriteFileAtomically(JoinPath(base_, name) + "/model", "bytes").ok());
  }
  EXPECT_EQ(NumberedDirectories(base_),
            (Names{JoinPath(base_, "99"), JoinPath(base_, "101"), JoinPath(base_, "1000")}));
  EXPECT_TRUE(KeepNewest(base_, 0).ok());
  EXPECT_EQ(NumberedDirectories(base_).size(), 3u);
  EXPECT_TRUE(KeepNewest(base_, 2).ok());
  Names there = There();
  std::sort(there.begin(), there.end());
  EXPECT_EQ(there, (Names{"1000", "101", "12x", "onnx"}));
}

TEST_F(NumberedDirectoryTest, SaysWhatCannotBeWritten) {
  ASSERT_TRUE(WriteFileAtomically(temp_.Path("models"), "a file").ok());
  const auto dir = Create();
  EXPECT_EQ(dir.status().code(), absl::StatusCode::kPermissionDenied) << dir.status();
}

}  // namespace
}  // namespace tpurun
