#include "runtime/checkpoint/first_writes.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/io/file.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;

class FirstWritesTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteFileAtomically(dir_.Path(name), bytes).ok());
  }
  std::string Read(const std::string& name) { return *ReadFile(dir_.Path(name)); }
  std::vector<std::string> Names() { return *ListDirectory(dir_.path()); }

  TempDir dir_;
  const Directory held_ = *Directory::Open(dir_.path());
};

TEST_F(FirstWritesTest, UndoRestoresWhatWasReplacedWithItsTime) {
  Write("f", "old");
  const auto changed = std::filesystem::last_write_time(dir_.Path("f"));
  FirstWrites writes;
  ASSERT_TRUE(writes.WriteFile({held_, "f"}, "new").ok());
  ASSERT_TRUE(writes.WriteFile({held_, "g"}, "new").ok());
  EXPECT_EQ(Read("f"), "new");
  writes.Undo(held_);
  EXPECT_THAT(Names(), ElementsAre("f"));
  EXPECT_EQ(Read("f"), "old");
  EXPECT_EQ(std::filesystem::last_write_time(dir_.Path("f")), changed);
}

TEST_F(FirstWritesTest, WhatIsKeptStaysAlone) {
  Write("f", "old");
  {
    FirstWrites writes;
    ASSERT_TRUE(writes.WriteFile({held_, "f"}, "new").ok());
    writes.Keep();
    EXPECT_THAT(Names(), ElementsAre("f"));
    writes.Undo(held_);
    ASSERT_TRUE(writes.WriteFile({held_, "f"}, "newer").ok());
  }
  EXPECT_THAT(Names(), ElementsAre("f"));
  EXPECT_EQ(Read("f"), "newer");
}

TEST_F(FirstWritesTest, AFileThatCouldNotBeWrittenIsAsBefore) {
  Write("f", "old");
  // The temporary name of the new bytes is taken.
  std::filesystem::create_directories(TemporaryName(dir_.Path("f")) + "/in the way");
  FirstWrites writes;
  EXPECT_FALSE(writes.WriteFile({held_, "f"}, "new").ok());
  writes.Undo(held_);
  std::filesystem::remove_all(TemporaryName(dir_.Path("f")));
  EXPECT_THAT(Names(), ElementsAre("f"));
  EXPECT_EQ(Read("f"), "old");
}

TEST_F(FirstWritesTest, WhatCannotBePutBackStays) {
  Write("f", "old");
  FirstWrites writes;
  ASSERT_TRUE(writes.WriteFile({held_, "f"}, "new").ok());
  std::filesystem::remove(dir_.Path("f"));
  std::filesystem::create_directories(dir_.Path("f/in the way"));
  writes.Undo(held_);
  ASSERT_THAT(Names(), ElementsAre(::testing::StartsWith(".f.before"), "f"));
  EXPECT_EQ(Read(Names()[0]), "old");
}

TEST_F(FirstWritesTest, MadeDirectoriesGoUnlessTheLastHasMoved) {
  const std::string made = dir_.Path("a/b");
  {
    FirstWrites writes;
    ASSERT_TRUE(writes.MakeDirectory(made).ok());
    writes.Undo(*Directory::Open(made));
    EXPECT_THAT(Names(), ElementsAre());
  }
  FirstWrites writes;
  ASSERT_TRUE(writes.MakeDirectory(made).ok());
  const Directory held = *Directory::Open(made);
  std::filesystem::rename(made, dir_.Path("moved"));
  std::filesystem::create_directory(made);
  writes.Undo(held);
  EXPECT_TRUE(IsDirectory(made));
}

TEST_F(FirstWritesTest, ADirectoryThatAnotherProcessHasLockedStays) {
  FirstWrites writes;
  ASSERT_TRUE(writes.MakeDirectory(dir_.Path("a/b")).ok());
  {
    const Directory locked = *Directory::Open(dir_.Path("a/b"));
    ASSERT_TRUE(locked.TryLock());
    writes.Undo(Directory());
    EXPECT_TRUE(IsDirectory(dir_.Path("a/b")));
  }
  std::filesystem::remove_all(dir_.Path("a"));
  ASSERT_TRUE(writes.MakeDirectory(dir_.Path("a/b")).ok());
  std::filesystem::remove_all(dir_.Path("a"));
  ASSERT_TRUE(writes.MakeDirectory(dir_.Path("a/b")).ok());
  writes.Undo(Directory());
  EXPECT_THAT(Names(), ElementsAre());
}

}  // namespace
}  // namespace tpurun
