#include "runtime/io/file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  FileTest() : dir_(temp_.path()) {}
  std::string Path(const std::string& name) const { return JoinPath(dir_, name); }
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), bytes).ok());
  }
  const TempDir temp_;
  const std::string dir_;
};

TEST(Path, JoinsAndSplits) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(DirName("a/b/c"), "a/b");
  EXPECT_EQ(DirName("/c"), "/");
  EXPECT_EQ(DirName("c"), "");
  EXPECT_EQ(BaseName("a/b"), "b");
  EXPECT_EQ(BaseName("b"), "b");
}

TEST_F(FileTest, ReadsBackWhatWasWritten) {
  std::string bytes("\0a\n\xff", 4);
  for (int i = 0; i < 17; ++i) bytes += bytes;
  for (const std::string& content : {std::string(), std::string("x"), bytes}) {
    Write("f", content);
    const absl::StatusOr<std::string> got = ReadFile(Path("f"));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(*got == content);
    EXPECT_EQ(*FileSize(Path("f")), content.size());
  }
}

TEST_F(FileTest, AnAbsentFileIsNotFoundWithItsPath) {
  for (const absl::Status& status :
       {ReadFile(Path("no/file")).status(), FileSize(Path("no/file")).status(),
        ListDirectory(Path("no/file")).status(), Glob(Path("no/file")).status()}) {
    EXPECT_EQ(ExitCode(status), 66);
    EXPECT_THAT(std::string(status.message()), HasSubstr(Path("no/file")));
    EXPECT_THAT(std::string(status.message()), HasSubstr("No such file or directory"));
  }
}

TEST_F(FileTest, ADirectoryIsNotReadAsAFile) {
  const absl::Status status = ReadFile(dir_).status();
  EXPECT_EQ(ExitCode(status), 66);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Is a directory"));
}

TEST_F(FileTest, ADeviceOrAPipeIsNoRegularFileAndIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  for (const std::string& path : {Path("pipe"), std::string("/dev/zero")}) {
    for (const absl::Status& status :
         {ReadFile(path).status(), FileSource::OpenRegular(path).status(),
          RandomAccessFile::Open(path).status()}) {
      EXPECT_EQ(ExitCode(status), 66);
      EXPECT_EQ(status.message(),
                "cannot read " + path + ": it is a device or a pipe, want a regular file");
    }
  }
}

// A process's memory has no page at address 0: to read it is EIO, as on a disk that fails.
TEST_F(FileTest, ADeviceThatFailsIsNotFoundAndNotDamage) {
  const std::string failing = "/proc/self/mem";
  char byte;
  for (const absl::Status& status :
       {ReadFile(failing).status(), (*FileSource::Open(failing))->Read(&byte, 1).status(),
        (*RandomAccessFile::Open(failing))->ReadAt(0, &byte, 1)}) {
    EXPECT_EQ(ExitCode(status), 66);
    EXPECT_EQ(status.message(), "cannot read " + failing + ": Input/output error");
  }
}

TEST_F(FileTest, WhatHasMoreBytesThanAReaderWantsIsDataLoss) {
  Write("f", "12345");
  EXPECT_EQ(*ReadFile(Path("f"), 5), "12345");
  const absl::Status status = ReadFile(Path("f"), 4).status();
  EXPECT_EQ(ExitCode(status), 65);
  EXPECT_EQ(status.message(), Path("f") + " has more than 4 bytes, the most that is read");
  // No memory is asked for in proportion to what a file claims to have.
  Write("sparse", "");
  ASSERT_EQ(truncate(Path("sparse").c_str(), int64_t{1} << 40), 0);
  EXPECT_EQ(ExitCode(ReadFile(Path("sparse"), 1 << 20).status()), 65);
  const std::unique_ptr<FileSource> endless = *FileSource::Open("/dev/zero");
  EXPECT_EQ(ExitCode(ReadAll(*endless, "zeros", 1 << 20).status()), 65);
}

TEST_F(FileTest, ANameBelowAFileIsNotSaidToBeAbsent) {
  Write("f", "");
  EXPECT_EQ(Glob(Path("f/x")).status().message(),
            "cannot read " + Path("f/x") + ": Not a directory");
  EXPECT_FALSE(IsAbsent(Path("f/x")));
  EXPECT_TRUE(IsAbsent(Path("x")));
}

TEST_F(FileTest, ListsAndGlobsInByteOrder) {
  for (const char* name : {"b-2", "b-10", "a", "B"}) Write(name, "");
  EXPECT_THAT(*ListDirectory(dir_), ElementsAre("B", "a", "b-10", "b-2"));
  EXPECT_THAT(*Glob(Path("b*")), ElementsAre(Path("b-10"), Path("b-2")));
  EXPECT_THAT(*Glob(Path("a")), ElementsAre(Path("a")));
  const absl::Status none = Glob(Path("c*")).status();
  EXPECT_EQ(ExitCode(none), 66);
  EXPECT_THAT(std::string(none.message()), HasSubstr("no file matches"));
}

TEST_F(FileTest, AnAtomicWriteLeavesNoTemporaryFile) {
  Write("f", "old");
  Write("f", "new");
  EXPECT_EQ(*ReadFile(Path("f")), "new");
  EXPECT_THAT(*ListDirectory(dir_), ElementsAre("f"));
}

TEST_F(FileTest, AnAtomicWriteFollowsSymbolicLinks) {
  Write("f", "old");
  ASSERT_EQ(symlink("f", Path("link").c_str()), 0);
  Write("link", "new");
  EXPECT_EQ(*ReadFile(Path("f")), "new");
  EXPECT_THAT(*ListDirectory(dir_), ElementsAre("f", "link"));
  ASSERT_TRUE(RemoveFile(Path("f")).ok());
  const absl::Status status = WriteFileAtomically(Path("link"), "x");
  EXPECT_EQ(ExitCode(status), 74);
  EXPECT_THAT(std::string(status.message()), HasSubstr("link: No such file or directory"));
}

TEST_F(FileTest, AnAtomicWriteReplacesFilesAlone) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const absl::Status status = WriteFileAtomically(Path("pipe"), "x");
  EXPECT_EQ(ExitCode(status), 74);
  EXPECT_EQ(status.message(),
            "cannot write " + Path("pipe") + ": it is a device, pipe or socket, want a file");
  EXPECT_THAT(*ListDirectory(dir_), ElementsAre("pipe"));
}

TEST_F(FileTest, WhatIsReadMeanwhileIsNotReplaced) {
  Write("f", "");
  EXPECT_EQ(ReplaceableFile(Path("f"), {Path("absent")})->text(), Path("f"));
  const absl::Status status = ReplaceableFile(Path("f"), {Path("absent"), dir_ + "/./f"}).status();
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_EQ(status.message(), Path("f") + " is an input too, want another name for the output");
}

TEST_F(FileTest, RemovesOnlyTemporaryFiles) {
  for (const char* name : {"a.tempstate12", "a", "a.tempstate", "a.tempstate1x", "b.tempstate3"}) {
    Write(name, "");
  }
  ASSERT_TRUE(RemoveTemporaryFiles(dir_).ok());
  EXPECT_THAT(*ListDirectory(dir_), ElementsAre("a", "a.tempstate", "a.tempstate1x"));
  Write(BaseName(TemporaryName(Path("c"))), "");
  ASSERT_TRUE(RemoveTemporaryFiles(dir_).ok());
  EXPECT_FALSE(FileExists(TemporaryName(Path("c"))));
}

TEST_F(FileTest, MadeDirectoriesAreNamed) {
  std::vector<std::string> made;
  ASSERT_TRUE(MakeDirectories(Path("d"), &made).ok());
  ASSERT_TRUE(MakeDirectories(Path("d/e/f"), &made).ok());
  ASSERT_TRUE(MakeDirectories(Path("d/e"), &made).ok());
  Write("d/file", "");
  EXPECT_FALSE(MakeDirectories(Path("d/file/g"), &made).ok());
  EXPECT_THAT(made, ElementsAre(Path("d"), Path("d/e"), Path("d/e/f")));
}

TEST_F(FileTest, UnwritablePlacesArePermissionDenied) {
  // Root may write anywhere: a directory in the way and an absent one fail for everybody.
  ASSERT_TRUE(MakeDirectories(Path("d/e")).ok());
  Write("file", "");
  const absl::Status on_directory = WriteFileAtomically(Path("d"), "x");
  const absl::Status in_absent = WriteFileAtomically(Path("no/f"), "x");
  const absl::Status below_file = MakeDirectories(Path("file/d"));
  for (const absl::Status& status : {on_directory, in_absent, below_file}) {
    EXPECT_EQ(ExitCode(status), 74) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(dir_));
  }
  EXPECT_THAT(std::string(on_directory.message()), HasSubstr("Is a directory"));
  EXPECT_THAT(std::string(in_absent.message()), HasSubstr("No such file or directory"));
  EXPECT_THAT(std::string(below_file.message()), HasSubstr("file is not a directory"));
  EXPECT_THAT(*ListDirectory(dir_), ElementsAre("d", "file"));
}

TEST_F(FileTest, AFullDiskIsPermissionDeniedWithItsReason) {
  absl::StatusOr<std::unique_ptr<FileSink>> sink = FileSink::Create("/dev/full");
  if (!sink.ok()) GTEST_SKIP() << "no /dev/full here";
  ASSERT_TRUE((*sink)->Append("x").ok());
  const absl::Status status = (*sink)->Close();
  EXPECT_EQ(ExitCode(status), 74);
  EXPECT_EQ(status.message(), "cannot write /dev/full: No space left on device");
}

// The limit stands for a disk that fills up in the middle of a file.
TEST_F(FileTest, AnAtomicWriteThatFailsLeavesTheOldFile) {
  Write("f", "old");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = WriteFileAtomically(Path("f"), std::string(5000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(ExitCode(status), 74);
  EXPECT_THAT(std::string(status.message()), HasSubstr("File too large"));
  EXPECT_EQ(*ReadFile(Path("f")), "old");
  EXPECT_THAT(*ListDirectory(dir_), ElementsAre("f"));
}

TEST_F(FileTest, MakesDirectoriesOnceAndAgain) {
  EXPECT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  EXPECT_TRUE(MakeDirectories(Path("a/b/c/")).ok());
  EXPECT_TRUE(IsDirectory(Path("a/b/c")));
  EXPECT_FALSE(IsDirectory(Path("a/b/d")));
}

TEST_F(FileTest, DirectoriesThatOthersRemoveMeanwhileAreMadeAgain) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const absl::Status status = MakeDirectories(Path("a/b/c"));
        ASSERT_TRUE(status.ok()) << status;
        for (const char* path : {"a/b/c", "a/b", "a"}) rmdir(Path(path).c_str());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FileTest, RemoveIsContentWithAnAbsentFile) {
  Write("f", "x");
  EXPECT_TRUE(RemoveFile(Path("f")).ok());
  EXPECT_FALSE(FileExists(Path("f")));
  EXPECT_TRUE(RemoveFile(Path("f")).ok());
}

// The source against the same string, by steps that end in, at and beyond its buffer.
// Gives 3 bytes, then what a device with a bad block does.
class Failing : public ByteSource {
 public:
  absl::StatusOr<size_t> Read(char* out, size_t size) override {
    if (std::exchange(given_, true)) return absl::NotFoundError("Input/output error");
    std::fill_n(out, 3, 'x');
    return 3;
  }

 private:
  bool given_ = false;
};

TEST(ByteSourceTest, AnErrorAfterTheFirstBytesIsNoEnd) {
  char bytes[10];
  for (const auto& read : std::vector<std::function<absl::Status(ByteSource&)>>{
           [](ByteSource& source) { return ReadAll(source, "f", 100).status(); },
           [](ByteSource& source) { return source.Skip(10).status(); },
           [&](ByteSource& source) { return ReadFully(source, bytes, 10).status(); }}) {
    Failing source;
    EXPECT_EQ(read(source).message(), "Input/output error");
  }
}

TEST_F(FileTest, WhatAPipeHasGivenIsNotKeptBack) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::unique_ptr<FileSource> source =
      *FileSource::Open("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  std::vector<char> got(200000);
  const auto read = [&](size_t size) {
    return std::string(got.data(), *source->Read(got.data(), size));
  };
  // Through the buffer and past it; the pipe stays open.
  for (const size_t size : {size_t{100}, got.size()}) {
    ASSERT_EQ(write(ends[1], "first", 5), 5);
    EXPECT_EQ(read(size), "first");
  }
  ASSERT_EQ(write(ends[1], "second", 6), 6);
  EXPECT_EQ(read(3), "sec");
  EXPECT_EQ(read(100), "ond");
  ASSERT_EQ(write(ends[1], "third", 5), 5);
  EXPECT_EQ(*ReadFully(*source, got.data(), 5), 5u);
  ASSERT_EQ(write(ends[1], "end", 3), 3);
  close(ends[1]);
  EXPECT_EQ(*ReadAll(*source, "the pipe", 100), "end");
  EXPECT_EQ(read(100), "");
}

TEST_F(FileTest, SourceReadsAndSkipsAsAString) {
  std::string bytes;
  for (int i = 0; i < 700000; ++i) bytes += static_cast<char>(i * 7 + i / 251);
  Write("f", bytes);
  const std::unique_ptr<FileSource> file = *FileSource::Open(Path("f"));
  StringSource text(bytes);
  std::vector<char> got(400000), want(400000);
  bool skip = false;
  for (const size_t step : {1, 10, 1000, 262144, 5, 3, 300000, 1, 2, 100000, 100000}) {
    ASSERT_EQ(file->remaining(), text.remaining());
    if (skip) {
      ASSERT_EQ(*file->Skip(step), *text.Skip(step));
    } else {
      const size_t size = *file->Read(got.data(), step);
      ASSERT_EQ(size, *text.Read(want.data(), step));
      ASSERT_TRUE(std::equal(got.begin(), got.begin() + size, want.begin())) << step;
    }
    skip = !skip;
  }
  EXPECT_EQ(*file->Read(got.data(), 1), 0u);
}

TEST_F(FileTest, SinkKeepsOrderAcrossItsBuffer) {
  const std::unique_ptr<FileSink> sink = *FileSink::Create(Path("f"));
  std::string want;
  for (const size_t size : {1, 200000, 100000, 400000, 0, 7}) {
    const std::string part(size, static_cast<char>('a' + want.size() % 26));
    ASSERT_TRUE(sink->Append(part).ok());
    want += part;
  }
  ASSERT_TRUE(sink->Flush().ok());
  EXPECT_TRUE(*ReadFile(Path("f")) == want);
  ASSERT_TRUE(sink->Append("end").ok());
  ASSERT_TRUE(sink->Sync().ok());
  ASSERT_TRUE(sink->Close().ok());
  EXPECT_TRUE(*ReadFile(Path("f")) == want + "end");
  EXPECT_FALSE(sink->Append("late").ok());
}

TEST_F(FileTest, ReadAtBeyondTheEndIsDataLoss) {
  Write("f", "0123456789");
  const std::unique_ptr<RandomAccessFile> file = *RandomAccessFile::Open(Path("f"));
  EXPECT_EQ(file->size(), 10u);
  char out[4];
  ASSERT_TRUE(file->ReadAt(6, out, 4).ok());
  EXPECT_EQ(std::string(out, 4), "6789");
  const absl::Status status = file->ReadAt(7, out, 4);
  EXPECT_EQ(ExitCode(status), 65);
  EXPECT_THAT(std::string(status.message()), HasSubstr("got 3 bytes, want 4 (offset 7)"));
}

}  // namespace
}  // namespace tpurun
