#include "runtime/io/output_file.h"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "tests/io/child.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OutputFileTest : public ::testing::Test {
 protected:
  std::vector<std::string> Names() const { return ListDirectory(dir_.path()).value(); }
  // A process that begins the file and is gone before it has its name.
  void KillWriterOf(const std::string& name) const {
    RunInChild([&] {
      OutputFile* const file = OutputFile::Create(dir_.Path(name)).value().release();
      EXPECT_TRUE(file->Append("half").ok() && file->Flush().ok());
    });
  }

  const TempDir dir_;
};

TEST_F(OutputFileTest, TheNameComesWithTheCommit) {
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("f"), "old").ok());
  const auto file = OutputFile::Create(dir_.Path("f")).value();
  ASSERT_TRUE(file->Append("new").ok());
  ASSERT_TRUE(file->Close().ok());
  EXPECT_EQ(*ReadFile(dir_.Path("f")), "old");
  EXPECT_EQ(*ReadFile(TemporaryName(dir_.Path("f"))), "new");
  EXPECT_FALSE(file->Append("late").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(*ReadFile(dir_.Path("f")), "new");
  EXPECT_THAT(Names(), ElementsAre("f"));
}

TEST_F(OutputFileTest, WhatIsNotCommittedIsRemoved) {
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("f"), "old").ok());
  auto file = OutputFile::Create(dir_.Path("f")).value();
  ASSERT_TRUE(file->Append("new").ok());
  ASSERT_TRUE(file->Close().ok());
  file.reset();
  EXPECT_EQ(*ReadFile(dir_.Path("f")), "old");
  EXPECT_THAT(Names(), ElementsAre("f"));
}

TEST_F(OutputFileTest, ARenameThatFailsLeavesNothing) {
  auto file = OutputFile::Create(dir_.Path("f")).value();
  ASSERT_TRUE(MakeDirectories(dir_.Path("f")).ok());
  EXPECT_EQ(ExitCode(file->Commit()), 74);
  file.reset();
  EXPECT_THAT(Names(), ElementsAre("f"));
}

TEST_F(OutputFileTest, AGlobDoesNotFindWhatIsUnfinished) {
  const auto file = OutputFile::Create(dir_.Path("f")).value();
  EXPECT_EQ(ExitCode(Glob(dir_.Path("*")).status()), 66);
}

TEST_F(OutputFileTest, ErrorsNameTheFileItself) {
  const absl::Status status = OutputFile::Create(dir_.Path("no/f")).status();
  EXPECT_EQ(ExitCode(status), 74);
  EXPECT_EQ(status.message(), "cannot write " + dir_.Path("no/f") + ": No such file or directory");
}

TEST_F(OutputFileTest, WhatKilledWritersOfTheFileLeftIsRemovedAndNothingElse) {
  KillWriterOf("f");
  KillWriterOf("f");
  KillWriterOf("g");
  ASSERT_EQ(Names().size(), 3);
  RemoveTemporaryFilesOf(dir_.Path("f"));
  ASSERT_EQ(Names().size(), 1);
  EXPECT_THAT(Names()[0], HasSubstr(".g."));
  ASSERT_TRUE(RemoveTemporaryFiles(dir_.path()).ok());
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(OutputFileTest, AnAtomicWriteRemovesWhatItsKilledWritersLeft) {
  KillWriterOf("f");
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("f"), "whole").ok());
  EXPECT_THAT(Names(), ElementsAre("f"));
}

TEST_F(OutputFileTest, WhatARunningProcessWritesStays) {
  int begun[2], swept[2];
  ASSERT_EQ(pipe(begun) + pipe(swept), 0);
  const pid_t writer = StartChild([&] {
    char byte = 0;
    const auto file = OutputFile::Create(dir_.Path("f")).value();
    EXPECT_TRUE(file->Append("whole").ok());
    EXPECT_EQ(write(begun[1], &byte, 1), 1);
    EXPECT_EQ(read(swept[0], &byte, 1), 1);
    EXPECT_TRUE(file->Commit().ok());
  });
  char byte = 0;
  ASSERT_EQ(read(begun[0], &byte, 1), 1);
  const std::vector<std::string> before = Names();
  ASSERT_EQ(before.size(), 1);
  RemoveTemporaryFilesOf(dir_.Path("f"));
  ASSERT_TRUE(RemoveTemporaryFiles(dir_.path()).ok());
  EXPECT_EQ(Names(), before);
  // Nor does a file of the same name that is begun and finished meanwhile touch it.
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("f"), "between").ok());
  ASSERT_EQ(write(swept[1], &byte, 1), 1);
  WaitForChild(writer);
  EXPECT_EQ(*ReadFile(dir_.Path("f")), "whole");
  EXPECT_THAT(Names(), ElementsAre("f"));
}

// The moment between a file's creation and its lock.
TEST_F(OutputFileTest, NoFileIsTakenForALeftoverWhileItIsCreated) {
  std::atomic<bool> done = false;
  std::thread sweeper([&] {
    while (!done) EXPECT_TRUE(RemoveTemporaryFiles(dir_.path()).ok());
  });
  for (int i = 0; i < 2000; ++i) {
    const auto file = OutputFile::Create(dir_.Path("f"));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Rename().ok()) << i;
  }
  done = true;
  sweeper.join();
}

TEST_F(OutputFileTest, OneProcessNumberWritesAFileOnce) {
  // What a process of the same number left.
  std::ofstream(TemporaryName(dir_.Path("f"))) << "a longer text than the next one";
  auto file = OutputFile::Create(dir_.Path("f")).value();
  ASSERT_TRUE(file->Append("short").ok());
  const absl::Status second = OutputFile::Create(dir_.Path("f")).status();
  EXPECT_EQ(ExitCode(second), 74);
  EXPECT_THAT(std::string(second.message()), HasSubstr("another process of this number"));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(*ReadFile(dir_.Path("f")), "short");
}

}  // namespace
}  // namespace tpurun
