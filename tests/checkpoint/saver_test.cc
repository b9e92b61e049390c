#include "runtime/checkpoint/saver.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

class SaverTest : public ::testing::Test {
 protected:
  SaverTest() : held_(*Directory::Open(dir_.path())), store_(1) {
    EXPECT_TRUE(store_.Add({{.name = "v", .shape = {DType::kF32, {4}}}}).ok());
  }

  Saver Open(int64_t keep, double hours = 10000) {
    auto saver = Saver::Open({.model_dir = dir_.path(),
                              .keep_checkpoint_max = keep,
                              .keep_checkpoint_every_n_hours = hours,
                              .now = [this] { return now_; }});
    EXPECT_TRUE(saver.ok()) << saver.status();
    return *std::move(saver);
  }
  void Save(Saver& saver, int64_t step) {
    const absl::Status status = saver.Save(held_, store_, {}, step);
    EXPECT_TRUE(status.ok()) << status;
  }
  // The steps whose checkpoints are complete.
  std::vector<int64_t> Complete() {
    std::vector<int64_t> steps;
    for (int64_t step = 0; step < 100; ++step) {
      const std::string prefix = CheckpointPrefix(dir_.path(), step);
      const bool index = FileExists(BundleIndexPath(prefix));
      EXPECT_EQ(index, FileExists(BundleDataPath(prefix, 0, 1))) << step;
      if (index) steps.push_back(step);
    }
    return steps;
  }
  // The steps that `checkpoint` lists.
  std::vector<int64_t> Listed() {
    std::vector<int64_t> steps;
    const absl::StatusOr<CheckpointState> state = ReadCheckpointState(dir_.path());
    EXPECT_TRUE(state.ok()) << state.status();
    for (const std::string& prefix : state->all) {
      steps.push_back(std::stoll(prefix.substr(prefix.rfind('-') + 1)));
    }
    return steps;
  }

  TempDir dir_;
  const Directory held_;
  VariableStore store_;
  double now_ = 1000;
};

using Steps = std::vector<int64_t>;

TEST_F(SaverTest, KeepsTheNewest) {
  Saver saver = Open(3);
  EXPECT_EQ(saver.latest(), "");
  for (int64_t step = 0; step < 6; ++step) Save(saver, step);
  EXPECT_EQ(Complete(), (Steps{3, 4, 5}));
  EXPECT_EQ(Listed(), (Steps{3, 4, 5}));
  EXPECT_EQ(saver.latest(), dir_.Path("model.ckpt-5"));
  EXPECT_EQ(*ResolveCheckpoint(dir_.path()), dir_.Path("model.ckpt-5"));
}

TEST_F(SaverTest, GoesOnWithTheListOfTheRunBefore) {
  {
    Saver saver = Open(3);
    for (int64_t step = 0; step < 3; ++step) Save(saver, step);
  }
  Saver saver = Open(3);
  EXPECT_EQ(saver.latest(), dir_.Path("model.ckpt-2"));
  Save(saver, 3);
  EXPECT_EQ(Complete(), (Steps{1, 2, 3}));
}

TEST_F(SaverTest, ZeroKeepsAllAndOneKeepsOne) {
  Saver all = Open(0);
  for (int64_t step = 0; step < 9; ++step) Save(all, step);
  EXPECT_EQ(Complete().size(), 9u);
  Saver one = Open(1);
  Save(one, 9);
  EXPECT_EQ(Complete(), Steps{9});
  EXPECT_EQ(Listed(), Steps{9});
}

TEST_F(SaverTest, KeepsOneForEverEachNHours) {
  Saver saver = Open(2, 1);
  for (int64_t step = 0; step < 10; ++step) {
    now_ = 1000 + step * 1800;  // half an hour each
    Save(saver, step);
  }
  // Written more than 1, 2, 3 hours after the start, and the newest two.
  EXPECT_EQ(Complete(), (Steps{3, 5, 7, 8, 9}));
  EXPECT_EQ(Listed(), (Steps{8, 9}));
}

TEST_F(SaverTest, TheBestStaysHoweverManyAreNewer) {
  Saver saver = Open(2);
  for (int64_t step = 0; step < 3; ++step) Save(saver, step);
  saver.Keep({CheckpointPrefix(dir_.path(), 2)});
  for (int64_t step = 3; step < 7; ++step) Save(saver, step);
  EXPECT_EQ(Complete(), (Steps{2, 5, 6}));
  EXPECT_EQ(Listed(), (Steps{2, 5, 6}));
  // Another one is: the old one goes with the next save.
  saver.Keep({CheckpointPrefix(dir_.path(), 6)});
  Save(saver, 7);
  EXPECT_EQ(Complete(), (Steps{6, 7}));
  Save(saver, 8);
  EXPECT_EQ(Complete(), (Steps{6, 7, 8}));
}

TEST_F(SaverTest, SavingAStepAgainListsItOnce) {
  Saver saver = Open(5);
  for (const int64_t step : {0, 1, 1, 0}) Save(saver, step);
  EXPECT_EQ(Listed(), (Steps{1, 0}));
}

TEST_F(SaverTest, AListedCheckpointWhoseFilesAreGoneIsLeftOut) {
  {
    Saver saver = Open(5);
    for (int64_t step = 0; step < 3; ++step) Save(saver, step);
  }
  ASSERT_TRUE(RemoveFile(BundleIndexPath(dir_.Path("model.ckpt-0"))).ok());
  ASSERT_TRUE(RemoveFile(BundleDataPath(dir_.Path("model.ckpt-0"), 0, 1)).ok());
  Saver saver = Open(5);
  ASSERT_TRUE(saver.Sweep(held_).ok());
  Save(saver, 3);
  EXPECT_EQ(Listed(), (Steps{1, 2, 3}));
  EXPECT_EQ(Complete(), (Steps{1, 2, 3}));
}

TEST_F(SaverTest, ACheckpointThatIsNotListedIsNotWrittenOver) {
  {
    Saver saver = Open(5);
    for (int64_t step = 0; step < 30; step += 10) Save(saver, step);
    EXPECT_TRUE(saver.CheckUnlisted(held_, 0, 100).ok());
  }
  const auto message = [&](int64_t first, int64_t last) {
    return std::string(Open(5).CheckUnlisted(held_, first, last).message());
  };
  EXPECT_EQ(message(0, 100), "");
  // The user goes back to step 10.
  const std::string kept = dir_.Path("model.ckpt-10");
  ASSERT_TRUE(WriteCheckpointState(dir_.path(), {.latest = kept, .all = {kept}}).ok());
  EXPECT_EQ(message(10, 19), "");
  EXPECT_EQ(message(21, 100), "");
  EXPECT_EQ(
      message(10, 20),
      "training from step 10 would write over " + dir_.Path("model.ckpt-20") + ", which " +
          dir_.Path("checkpoint") +
          " does not list: to go on from it, name it there (the first line: "
          "model_checkpoint_path: \"model.ckpt-20\"); to begin with its weights, take another "
          "model_dir and --set warm_start_from.ckpt_to_initialize_from=" +
          dir_.Path("model.ckpt-20") + "; else move it away");
  EXPECT_NE(message(0, 20).find("model.ckpt-20 and 1 earlier, which"), std::string::npos);
  // What a killed run left is swept.
  ASSERT_TRUE(WritePendingSave(held_, {.writing = dir_.Path("model.ckpt-20"),
                                       .deleting = {dir_.Path("model.ckpt-0")}})
                  .ok());
  EXPECT_EQ(message(0, 20), "");
  EXPECT_TRUE(Open(5).CheckUnlisted(Directory(), 0, 20).ok());
}

TEST_F(SaverTest, WhatLiesInAnotherDirectoryIsNotDeleted) {
  const TempDir other;
  const std::string theirs = CheckpointPrefix(other.path(), 3);
  ASSERT_TRUE(WriteCheckpoint(store_, {}, theirs).ok());
  ASSERT_TRUE(WriteCheckpointState(dir_.path(), {.latest = theirs, .all = {theirs}}).ok());
  Saver saver = Open(1);
  for (const int64_t step : {4, 5}) Save(saver, step);
  EXPECT_EQ(Listed(), Steps({5}));
  EXPECT_TRUE(FileExists(BundleIndexPath(theirs)));
  EXPECT_TRUE(FileExists(BundleDataPath(theirs, 0, 1)));
}

// As kills leave them: what was recorded, `checkpoint` before and after it was written.
class KilledSaveTest : public SaverTest {
 protected:
  // model.ckpt-1 to 3 are listed, 2 and 3 after the save; 7 and 8 are somebody else's.
  KilledSaveTest() : saver_(Open(5)) {
    for (const int64_t step : {1, 2, 3}) Save(saver_, step);
    for (const int64_t step : {7, 8}) Write(step);
  }
  std::string Prefix(int64_t step) { return CheckpointPrefix(dir_.path(), step); }
  void Write(int64_t step) { ASSERT_TRUE(WriteCheckpoint(store_, {}, Prefix(step)).ok()); }
  void Record(int64_t writing, const Steps& deleting) {
    PendingSave pending = {.writing = Prefix(writing)};
    for (const int64_t step : deleting) pending.deleting.push_back(Prefix(step));
    ASSERT_TRUE(WritePendingSave(held_, pending).ok());
  }
  void ListOnly(const Steps& steps) {
    CheckpointState state = {.latest = Prefix(steps.back())};
    for (const int64_t step : steps) state.all.push_back(Prefix(step));
    ASSERT_TRUE(WriteCheckpointState(held_, state).ok());
  }
  Steps AfterSweep() {
    const absl::Status swept = saver_.Sweep(held_);
    EXPECT_TRUE(swept.ok()) << swept;
    EXPECT_TRUE(IsAbsent(PendingSavePath(held_)));
    return Complete();
  }

  Saver saver_;
};

TEST_F(KilledSaveTest, WhatWasBeingWrittenGoesAndWhatWasToBeDeletedStays) {
  Record(4, {1});
  EXPECT_EQ(AfterSweep(), (Steps{1, 2, 3, 7, 8}));
  Record(4, {1});
  Write(4);
  EXPECT_EQ(AfterSweep(), (Steps{1, 2, 3, 7, 8}));
  Record(4, {1});
  Write(4);
  ASSERT_TRUE(RemoveFile(BundleIndexPath(Prefix(4))).ok());
  EXPECT_EQ(AfterSweep(), (Steps{1, 2, 3, 7, 8}));
}

TEST_F(KilledSaveTest, OnceItIsListedWhatWasToBeDeletedGoes) {
  Record(4, {1});
  Write(4);
  ListOnly({2, 3, 4});
  EXPECT_EQ(AfterSweep(), (Steps{2, 3, 4, 7, 8}));
  Record(4, {1});
  EXPECT_EQ(AfterSweep(), (Steps{2, 3, 4, 7, 8}));
}

TEST_F(KilledSaveTest, WhatIsListedOrLiesElsewhereIsNeverDeleted) {
  const TempDir other;
  const std::string theirs = CheckpointPrefix(other.path(), 3);
  ASSERT_TRUE(WriteCheckpoint(store_, {}, theirs).ok());
  ASSERT_TRUE(
      WritePendingSave(held_, {.writing = Prefix(3), .deleting = {Prefix(2), theirs}}).ok());
  EXPECT_EQ(AfterSweep(), (Steps{1, 2, 3, 7, 8}));
  EXPECT_TRUE(FileExists(BundleIndexPath(theirs)));
}

TEST_F(KilledSaveTest, BeforeTheFirstListWhatWasWrittenGoes) {
  ASSERT_TRUE(RemoveFile(CheckpointStatePath(dir_.path())).ok());
  Write(0);
  Record(0, {});
  EXPECT_EQ(AfterSweep(), (Steps{1, 2, 3, 7, 8}));
}

TEST_F(KilledSaveTest, ADamagedRecordDeletesNothing) {
  ASSERT_TRUE(WriteFileAtomically(PendingSavePath(held_), "nonsense").ok());
  ASSERT_TRUE(saver_.Sweep(held_).ok());
  EXPECT_EQ(Complete(), (Steps{1, 2, 3, 7, 8}));
}

TEST_F(KilledSaveTest, TemporaryFilesGoAndHalfACheckpointOfSomebodyElseStays) {
  const std::string temporary = TemporaryName(dir_.Path("checkpoint"));
  const std::string half = dir_.Path("model.ckpt-9.data-00000-of-00001");
  for (const std::string& path : {temporary, half}) {
    ASSERT_TRUE(WriteFileAtomically(path, "half").ok());
  }
  ASSERT_TRUE(saver_.Sweep(held_).ok());
  EXPECT_FALSE(FileExists(temporary));
  EXPECT_TRUE(FileExists(half));
}

TEST_F(SaverTest, NothingIsRecordedAfterASave) {
  Saver saver = Open(1);
  for (const int64_t step : {0, 1}) Save(saver, step);
  EXPECT_TRUE(IsAbsent(PendingSavePath(held_)));
  EXPECT_EQ(Complete(), Steps{1});
}

TEST_F(SaverTest, AListThatCannotBeWrittenTakesItsCheckpointWithIt) {
  Saver saver = Open(5);
  Save(saver, 1);
  const std::string state = CheckpointStatePath(dir_.path());
  ASSERT_TRUE(RemoveFile(state).ok());
  std::filesystem::create_directory(state);
  EXPECT_TRUE(absl::IsPermissionDenied(saver.Save(held_, store_, {}, 2)));
  std::filesystem::remove(state);
  ASSERT_TRUE(saver.Sweep(held_).ok());
  EXPECT_EQ(Complete(), Steps{1});
}

TEST_F(SaverTest, AnEarlierCheckpointBecomesTheLatestAndTheNextSaveFollowsIt) {
  Saver saver = Open(3);
  for (const int64_t step : {10, 20, 30}) Save(saver, step);
  now_ = 2000;
  ASSERT_TRUE(saver.MakeLatest(held_, dir_.Path("model.ckpt-10")).ok());
  EXPECT_EQ(saver.latest(), dir_.Path("model.ckpt-10"));
  EXPECT_EQ(Listed(), (Steps{20, 30, 10}));
  EXPECT_EQ(ReadCheckpointState(dir_.path())->timestamps, (std::vector<double>{1000, 1000, 1000}));
  EXPECT_EQ(*ResolveCheckpoint(dir_.path()), dir_.Path("model.ckpt-10"));
  // A training that goes on from there writes the later steps again.
  Saver again = Open(3);
  Save(again, 20);
  EXPECT_EQ(Listed(), (Steps{30, 10, 20}));
  EXPECT_EQ(Complete(), (Steps{10, 20, 30}));
  EXPECT_TRUE(absl::IsNotFound(again.MakeLatest(held_, dir_.Path("model.ckpt-40"))));
  EXPECT_EQ(again.latest(), dir_.Path("model.ckpt-20"));
}

}  // namespace
}  // namespace tpurun
