#include "runtime/io/locked_file.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "tests/io/child.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

class LockedFileTest : public ::testing::Test {
 protected:
  const TempDir dir_;
  const std::string path_ = dir_.Path("f");
};

TEST_F(LockedFileTest, TheContentIsReplacedAndStays) {
  auto file = LockedFile::Open(path_).value();
  EXPECT_EQ(*ReadFile(path_), "");
  EXPECT_TRUE(file->Write("a long text").ok());
  EXPECT_TRUE(file->Write("short").ok());
  EXPECT_EQ(*ReadFile(path_), "short");
  file.reset();
  file = LockedFile::Open(path_).value();
  EXPECT_EQ(*ReadFile(path_), "short");
}

TEST_F(LockedFileTest, OneProcessAtATimeHasIt) {
  auto file = LockedFile::Open(path_).value();
  EXPECT_TRUE(file->Write("first").ok());  // which does not end the lock
  RunInChild([&] {
    const absl::Status status = LockedFile::Open(path_).status();
    EXPECT_EQ(ExitCode(status), 75);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("in use by another process"));
  });
  file.reset();
  // One that is gone with the lock, and without a word.
  RunInChild([&] { EXPECT_NE(LockedFile::Open(path_).value().release(), nullptr); });
  EXPECT_TRUE(LockedFile::Open(path_).ok());
}

TEST_F(LockedFileTest, ARemovedFileIsAnother) {
  const auto removed = LockedFile::Open(path_).value();
  EXPECT_TRUE(RemoveFile(path_).ok());
  const auto file = LockedFile::Open(path_).value();
  EXPECT_TRUE(file->Write("new").ok());
  EXPECT_EQ(*ReadFile(path_), "new");
}

TEST_F(LockedFileTest, WhatCannotBeMade) {
  EXPECT_EQ(ExitCode(LockedFile::Open(dir_.Path("absent/f")).status()), 74);
  EXPECT_EQ(ExitCode(LockedFile::Open(dir_.path()).status()), 74);
}

}  // namespace
}  // namespace tpurun
