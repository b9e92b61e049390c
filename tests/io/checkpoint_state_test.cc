// The text was written by TensorFlow 2.15.1 (tf.compat.v1.train.Saver).
#include "runtime/io/checkpoint_state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckpointStateTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(dir_.Path("checkpoint")) << text; }
  std::string Text() { return *ReadFile(dir_.Path("checkpoint")); }
  const TempDir dir_;
};

TEST_F(CheckpointStateTest, ReadsAbsolutePathsWithEscapes) {
  Write(
      "model_checkpoint_path: \"/tmp/dir \\\"q\\\"\\n \\303\\251\"\n"
      "all_model_checkpoint_paths: \"/tmp/dir \\\"q\\\"\\n \\303\\251\"\n");
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(dir_.path());
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->latest, "/tmp/dir \"q\"\n \xc3\xa9");
  EXPECT_THAT(state->all, ElementsAre("/tmp/dir \"q\"\n \xc3\xa9"));
  ASSERT_TRUE(WriteCheckpointState(dir_.path(), *state).ok());
  EXPECT_EQ(Text(),
            "model_checkpoint_path: \"/tmp/dir \\\"q\\\"\\n \\303\\251\"\n"
            "all_model_checkpoint_paths: \"/tmp/dir \\\"q\\\"\\n \\303\\251\"\n");
}

TEST_F(CheckpointStateTest, NamesInTheDirectoryAreRelative) {
  const CheckpointState state = {
      .latest = dir_.Path("model.ckpt-1000"),
      .all = {"/elsewhere/model.ckpt-0", dir_.Path("model.ckpt-1000")},
      .timestamps = {1.5, 1700000000.25},
      .last_preserved = 2.5,
  };
  ASSERT_TRUE(WriteCheckpointState(dir_.path(), state).ok());
  EXPECT_EQ(Text(),
            "model_checkpoint_path: \"model.ckpt-1000\"\n"
            "all_model_checkpoint_paths: \"/elsewhere/model.ckpt-0\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-1000\"\n"
            "all_model_checkpoint_timestamps: 1.5\n"
            "all_model_checkpoint_timestamps: 1700000000.25\n"
            "last_preserved_timestamp: 2.5\n");
  const absl::StatusOr<CheckpointState> read = ReadCheckpointState(dir_.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->latest, state.latest);
  EXPECT_EQ(read->all, state.all);
  EXPECT_EQ(read->timestamps, state.timestamps);
  EXPECT_EQ(read->last_preserved, 2.5);
}

TEST_F(CheckpointStateTest, FilesOfATrainingAreThoseThatItsFolderNeeds) {
  const TempDir dir;
  for (const char* const name :
       {"best_checkpoint.pbtxt", "checkpoint", "events.out.tfevents.1.host", "graph.pbtxt",
        "model.ckpt-5.index", "notes.txt", "report.html", "rows.jsonl", "vocabulary.txt"}) {
    std::ofstream(dir.Path(name)) << "x";
  }
  EXPECT_THAT(
      FilesOfTraining(dir.path()),
      ::testing::ElementsAre(dir.Path("best_checkpoint.pbtxt"), dir.Path("checkpoint"),
                             dir.Path("events.out.tfevents.1.host"), dir.Path("graph.pbtxt"),
                             dir.Path("model.ckpt-5.index"), dir.Path("vocabulary.txt")));
  EXPECT_TRUE(FilesOfTraining(dir.Path("absent")).empty());
}

TEST_F(CheckpointStateTest, DamageIsDataLossWithItsPlace) {
  Write("model_checkpoint_path: \"a\"\nall_model_checkpoint_pbths: \"a\"\n");
  const absl::Status misspelt = ReadCheckpointState(dir_.path()).status();
  EXPECT_EQ(ExitCode(misspelt), 65);
  EXPECT_THAT(std::string(misspelt.message()), StartsWith(dir_.Path("checkpoint") + ":2:"));
  Write("model_checkpoint_path: \"a");
  EXPECT_EQ(ExitCode(ReadCheckpointState(dir_.path()).status()), 65);
  Write("");
  const absl::Status empty = ReadCheckpointState(dir_.path()).status();
  EXPECT_EQ(ExitCode(empty), 65);
  EXPECT_THAT(std::string(empty.message()), HasSubstr("names no checkpoint"));
}

TEST_F(CheckpointStateTest, OnlyARegularFileOfAtMostAMebibyteIsRead) {
  ASSERT_EQ(symlink("/dev/zero", dir_.Path("checkpoint").c_str()), 0);
  EXPECT_EQ(ExitCode(ReadCheckpointState(dir_.path()).status()), 66);
  ASSERT_TRUE(RemoveFile(dir_.Path("checkpoint")).ok());
  ASSERT_EQ(mkfifo(dir_.Path("checkpoint").c_str(), 0600), 0);
  EXPECT_EQ(ExitCode(ReadCheckpointState(dir_.path()).status()), 66);
  ASSERT_TRUE(RemoveFile(dir_.Path("checkpoint")).ok());

  std::string text = "model_checkpoint_path: \"a\"\n#";
  text.resize(1 << 20, '-');
  Write(text);
  EXPECT_EQ(ReadCheckpointState(dir_.path())->latest, dir_.Path("a"));
  Write(text + "-");
  const absl::Status status = ReadCheckpointState(dir_.path()).status();
  EXPECT_EQ(ExitCode(status), 65);
  EXPECT_EQ(status.message(),
            dir_.Path("checkpoint") + " has more than 1048576 bytes, the most that is read");
}

TEST_F(CheckpointStateTest, AListThatIsTooLongIsWrittenWithoutItsOldest) {
  CheckpointState state;
  for (int step = 0; step < 20000; ++step) {
    state.all.push_back(dir_.Path("model.ckpt-" + std::to_string(1000000000 + step)));
    state.timestamps.push_back(1700000000.123456 + step);
  }
  state.latest = state.all.back();
  ASSERT_TRUE(WriteCheckpointState(dir_.path(), state).ok());
  const absl::StatusOr<CheckpointState> read = ReadCheckpointState(dir_.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->latest, state.latest);
  ASSERT_GT(read->all.size(), 8000u);
  EXPECT_TRUE(std::equal(read->all.rbegin(), read->all.rend(), state.all.rbegin()));
  ASSERT_EQ(read->timestamps.size(), read->all.size());
  EXPECT_TRUE(
      std::equal(read->timestamps.rbegin(), read->timestamps.rend(), state.timestamps.rbegin()));
}

TEST_F(CheckpointStateTest, ResolvesDirectoryPrefixAndIndex) {
  const absl::Status none = ResolveCheckpoint(dir_.path()).status();
  EXPECT_EQ(ExitCode(none), 66);
  EXPECT_THAT(std::string(none.message()), HasSubstr("no checkpoint in " + dir_.path()));

  const std::string prefix = dir_.Path("model.ckpt-5");
  ASSERT_TRUE(WriteCheckpointState(dir_.path(), {.latest = prefix, .all = {prefix}}).ok());
  const absl::Status gone = ResolveCheckpoint(dir_.path()).status();
  EXPECT_EQ(ExitCode(gone), 65);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("there is no " + prefix + ".index"));
  EXPECT_EQ(ExitCode(ResolveCheckpoint(prefix).status()), 66);

  std::ofstream(prefix + ".index") << "x";
  EXPECT_EQ(*ResolveCheckpoint(dir_.path()), prefix);
  EXPECT_EQ(*ResolveCheckpoint(prefix), prefix);
  EXPECT_EQ(*ResolveCheckpoint(prefix + ".index"), prefix);
}

// What a training does that keeps one checkpoint.
class DeletedCheckpointTest : public CheckpointStateTest {
 protected:
  std::string Prefix(int step) const { return dir_.Path("model.ckpt-" + std::to_string(step)); }
  void Save(int step) {
    const absl::StatusOr<std::unique_ptr<BundleWriter>> writer = BundleWriter::Create(Prefix(step));
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->AddStrings("step", {}, {std::to_string(step)}).ok());
    ASSERT_TRUE((*writer)->Finish().ok());
    ASSERT_TRUE(
        WriteCheckpointState(dir_.path(), {.latest = Prefix(step), .all = {Prefix(step)}}).ok());
  }
  void Delete(int step) {
    ASSERT_TRUE(RemoveFile(BundleIndexPath(Prefix(step))).ok());
    ASSERT_TRUE(RemoveFile(BundleDataPath(Prefix(step), 0, 1)).ok());
  }
};

TEST_F(DeletedCheckpointTest, TheNewerOneIsTaken) {
  Save(1);
  std::vector<std::string> used;
  const absl::Status status = WithLatestCheckpoint(dir_.path(), [&](const std::string& prefix) {
    used.push_back(prefix);
    if (used.size() > 2) return absl::OkStatus();
    Save(1 + static_cast<int>(used.size()));
    Delete(static_cast<int>(used.size()));
    return absl::DataLossError("half of it is gone");
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(used, ElementsAre(Prefix(1), Prefix(2), Prefix(3)));
  EXPECT_EQ((*OpenCheckpoint(dir_.path()))->prefix(), Prefix(3));
}

TEST_F(DeletedCheckpointTest, WhatIsWrongWithTheLatestIsTold) {
  Save(1);
  int calls = 0;
  const absl::Status status = WithLatestCheckpoint(dir_.path(), [&](const std::string&) {
    ++calls;
    return absl::DataLossError("damaged");
  });
  EXPECT_EQ(status, absl::DataLossError("damaged"));
  EXPECT_EQ(calls, 1);
  Delete(1);
  EXPECT_EQ(ExitCode(OpenCheckpoint(dir_.path()).status()), 65);
}

TEST_F(DeletedCheckpointTest, AnOpenOneCanBeReadToItsEnd) {
  Save(1);
  const std::unique_ptr<BundleReader> reader = *OpenCheckpoint(Prefix(1));
  Delete(1);
  EXPECT_TRUE(reader->Verify().ok());
}

TEST_F(DeletedCheckpointTest, ANamedOneThatVanishesWhileItIsOpenedIsSaidToBeDeleted) {
  constexpr int kMostTries = 200000;
  Save(0);
  std::atomic<int> to_delete{0}, gone{0};
  std::thread training([&] {
    for (int step = 1; to_delete >= 0; ++step) {
      while (to_delete >= 0 && to_delete < step) std::this_thread::yield();
      if (to_delete < 0) break;
      Delete(step);
      gone = step;
    }
  });
  // It begins to be opened a little later each time.
  bool deleted = false;
  for (int step = 1; !deleted && step < kMostTries; ++step) {
    fs::create_hard_link(BundleIndexPath(Prefix(0)), BundleIndexPath(Prefix(step)));
    fs::create_hard_link(BundleDataPath(Prefix(0), 0, 1), BundleDataPath(Prefix(step), 0, 1));
    to_delete = step;
    const Clock::time_point begin = Clock::now();
    while (Clock::now() - begin < std::chrono::nanoseconds(100) * (step % 500)) {
    }
    const auto reader = OpenCheckpoint(Prefix(step));
    deleted = absl::StrContains(reader.status().message(), "was deleted while it was being read");
    if (reader.ok()) {
      EXPECT_TRUE((*reader)->Verify().ok());
    } else {
      // Whoever follows the latest takes the next one, also where it was gone before it was opened.
      EXPECT_TRUE(IsDeletedCheckpoint(reader.status())) << reader.status();
      EXPECT_EQ(ExitCode(reader.status()), 66) << reader.status();
    }
    while (gone < step) std::this_thread::yield();
  }
  to_delete = -1;
  training.join();
  EXPECT_TRUE(deleted);
}

}  // namespace
}  // namespace tpurun
