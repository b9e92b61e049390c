#include "runtime/io/directory.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/io/file.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DirectoryTest : public ::testing::Test {
 protected:
  DirectoryTest() : path_(dir_.Path("d")) { EXPECT_TRUE(MakeDirectories(path_).ok()); }
  void Move(const std::string& to) { std::filesystem::rename(path_, dir_.Path(to)); }

  TempDir dir_;
  const std::string path_;
};

TEST_F(DirectoryTest, OneHoldsTheLockAndNothingIsLeftBehind) {
  {
    const Directory first = *Directory::Open(path_);
    EXPECT_TRUE(first.TryLock());
    EXPECT_TRUE(first.TryLock());
    EXPECT_FALSE(Directory::Open(path_)->TryLock());
  }
  EXPECT_TRUE(Directory::Open(path_)->TryLock());
  EXPECT_THAT(*ListDirectory(path_), IsEmpty());
}

TEST_F(DirectoryTest, AProcessThatIsKilledReleasesTheLock) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<Directory> held = Directory::Open(path_);
    const char locked = held.ok() && held->TryLock() ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = write(ready[1], &locked, 1);
    pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_FALSE(Directory::Open(path_)->TryLock());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Directory::Open(path_)->TryLock());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(DirectoryTest, WhatIsNoDirectoryIsNotOpened) {
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("file"), "").ok());
  for (const std::string& path : {dir_.Path("absent"), dir_.Path("file")}) {
    const absl::Status status = Directory::Open(path).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
}

TEST_F(DirectoryTest, FilesFollowTheDirectoryNotItsPath) {
  const Directory held = *Directory::Open(path_);
  Move("moved");
  ASSERT_TRUE(MakeDirectories(path_).ok());  // another one in its place
  ASSERT_TRUE(WriteFileAtomically({held, "b"}, "1").ok());
  EXPECT_THAT(*ListDirectory(held), ElementsAre("b"));
  EXPECT_THAT(*ListDirectory(dir_.Path("moved")), ElementsAre("b"));
  EXPECT_THAT(*ListDirectory(path_), IsEmpty());
  EXPECT_EQ(*ReadFile({held, "b"}), "1");
  EXPECT_TRUE(FileExists({held, "b"}));
  EXPECT_TRUE(IsAbsent({held, "a"}));
  ASSERT_TRUE(RemoveFile({held, "b"}).ok());
  EXPECT_THAT(*ListDirectory(held), IsEmpty());
}

TEST_F(DirectoryTest, CheckPathTellsWhereTheDirectoryIsNow) {
  const Directory held = *Directory::Open(path_);
  EXPECT_TRUE(held.CheckPath().ok());
  Move("moved");
  const std::string moved = std::string(held.CheckPath().message());
  EXPECT_THAT(moved, AllOf(HasSubstr(path_ + ":"), HasSubstr("/moved now"),
                           HasSubstr("nothing is in its place")));
  ASSERT_TRUE(MakeDirectories(path_).ok());
  EXPECT_THAT(std::string(held.CheckPath().message()), HasSubstr("another one is in its place"));
  std::filesystem::remove(dir_.Path("moved"));
  EXPECT_THAT(std::string(held.CheckPath().message()), HasSubstr("is deleted"));
  EXPECT_TRUE(absl::IsPermissionDenied(held.CheckPath()));
}

TEST_F(DirectoryTest, ADeletedDirectoryIsNotMadeAnew) {
  const Directory held = *Directory::Open(path_);
  std::filesystem::remove(path_);
  EXPECT_TRUE(absl::IsPermissionDenied(WriteFileAtomically({held, "a"}, "1")));
  EXPECT_FALSE(FileExists(path_));
}

TEST_F(DirectoryTest, ALinkInAMovedDirectoryIsNotFollowedToAnotherFile) {
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("target"), "old").ok());
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("other"), "other").ok());
  std::filesystem::create_symlink(dir_.Path("target"), path_ + "/link");
  const Directory held = *Directory::Open(path_);
  ASSERT_TRUE(WriteFileAtomically({held, "link"}, "new").ok());
  EXPECT_EQ(*ReadFile(dir_.Path("target")), "new");
  Move("moved");
  ASSERT_TRUE(MakeDirectories(path_).ok());
  std::filesystem::create_symlink(dir_.Path("other"), path_ + "/link");
  EXPECT_TRUE(absl::IsPermissionDenied(WriteFileAtomically({held, "link"}, "newer")));
  EXPECT_EQ(*ReadFile(dir_.Path("other")), "other");
  EXPECT_EQ(*ReadFile(dir_.Path("target")), "new");
}

}  // namespace
}  // namespace tpurun
