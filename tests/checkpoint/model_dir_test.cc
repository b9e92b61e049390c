#include "runtime/checkpoint/model_dir.h"

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(LockModelDirTest, AnAbsentDirectoryIsNotOpened) {
  const absl::StatusOr<Directory> dir = LockModelDir("/no/such/directory", {});
  ASSERT_TRUE(dir.ok()) << dir.status();
  EXPECT_FALSE(dir->is_open());
}

TEST(LockModelDirTest, WaitsForItsHolderToEnd) {
  const TempDir dir;
  Directory held = *LockModelDir(dir.path(), {});
  ASSERT_TRUE(held.is_open());
  std::thread holder([&] {
    std::this_thread::sleep_for(milliseconds(100));
    held = Directory();
  });
  EXPECT_TRUE(LockModelDir(dir.path(), {.wait = milliseconds(60000)})->is_open());
  holder.join();
}

TEST(LockModelDirTest, GivesUpWithTheCodeThatSaysStartItAgain) {
  const TempDir dir;
  const Directory held = *LockModelDir(dir.path(), {});
  const absl::Status status =
      LockModelDir(dir.path(), {.wait = milliseconds(1), .quiet = milliseconds(0)}).status();
  EXPECT_EQ(ExitCode(status), 75) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another tpurun trains in " + dir.path()));
}

TEST(LockModelDirTest, AnInterruptEndsTheWait) {
  const TempDir dir;
  const Directory held = *LockModelDir(dir.path(), {});
  const std::atomic<int> interrupts{1};
  EXPECT_TRUE(absl::IsCancelled(
      LockModelDir(dir.path(), {.wait = milliseconds(60000), .interrupt = &interrupts}).status()));
}

TEST(LockModelDirTest, ADirectoryThatItsHolderTookAwayIsNotLocked) {
  const TempDir dir;
  const std::string path = dir.Path("m");
  ASSERT_TRUE(MakeDirectories(path).ok());
  Directory held = *LockModelDir(path, {});
  std::thread holder([&] {
    std::this_thread::sleep_for(milliseconds(50));
    std::filesystem::remove(path);
    held = Directory();
  });
  EXPECT_FALSE(LockModelDir(path, {.wait = milliseconds(60000)})->is_open());
  holder.join();
}

}  // namespace
}  // namespace tpurun
