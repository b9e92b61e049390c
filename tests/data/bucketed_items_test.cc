// bucket_by_sequence_length: what the batches of testdata/transforms/batch.txt do not show. The
// same batches whatever the threads, behind every position, and of the elements that on_error: SKIP
// leaves; and what is refused.
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

constexpr int kMost = 40;  // batches: several passes

// A batch and what goes with it.
struct Batch {
  std::string rows;
  int bucket = 0;
  std::string last;      // where the last row came from
  std::string position;  // behind it
  bool operator==(const Batch&) const = default;
};

class BucketedItemsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 draw(1);
    std::ofstream file(dir_.Path("good")), other(dir_.Path("bad"));
    for (int line = 0; line < 101; ++line) {
      const std::string words =
          absl::StrJoin(std::vector<std::string>(draw() % 9, absl::StrCat("w", line)), " ");
      file << line << "," << words << "\n";
      if (line % 7 == 0) other << "oops," << words << "\n";
      other << line << "," << words << "\n";
    }
  }

  static std::string Config(const std::string& fields, const std::string& before,
                            const std::string& after, const std::string& file,
                            const std::string& boundaries) {
    return absl::StrCat(
        "train { input { ", fields, " source { text_line { file: \"", file,
        "\" } } transform { decode_csv { column { name: \"x\" dtype: INT32 } column { name: "
        "\"words\" dtype: STRING default_value: \"\" } } } transform { split { feature: \"words\" "
        "} } transform { string_to_hash_bucket_fast { feature: \"words\" num_buckets: 100 } } "
        "transform { to_tensor { feature: \"words\" length: 8 row_lengths: \"n\" } } ",
        before,
        "transform { batch { drop_remainder: true bucket_by_sequence_length { element_length: "
        "\"n\" feature: \"words\" bucket_boundaries: ",
        boundaries, " } } } ", after, " } }");
  }

  static InputFnArgs Args(int64_t batch_size = 4) {
    return FeatureArgs("words s64[8] x s32[]", ModeKey::kTrain, batch_size);
  }

  absl::StatusOr<OpenInput> OpenWith(const std::string& before, const std::string& after = "",
                                     const std::string& fields = "",
                                     const std::string& file = "good",
                                     int64_t batch_size = 4) const {
    return Open(Config(fields, before, after, file, "[3, 6]"), Args(batch_size), dir_.path());
  }

  static std::vector<Batch> BatchesOf(absl::StatusOr<OpenInput> input) {
    std::vector<Batch> batches;
    EXPECT_TRUE(input.ok()) << input.status();
    while (input.ok() && batches.size() < kMost) {
      const auto rows = input->NextBatch();
      EXPECT_TRUE(rows.ok()) << rows.status();
      if (!rows.ok() || rows->empty()) break;
      batches.push_back(
          {*rows, input->batches().bucket(), input->WhereLast(), input->batches().Position()});
    }
    return batches;
  }

  const TempDir dir_;
};

constexpr char kShuffle[] = "transform { shuffle { buffer_size: 20 } } ";
constexpr char kCache[] = "transform { cache {} } ";
constexpr char kRepeats[] = "transform { repeat { count: 3 } } ";

TEST_F(BucketedItemsTest, EveryRowHasALengthOfItsBucket) {
  auto input = Open(Config("", kShuffle, "", "good", "[3, 6]"),
                    FeatureArgs("n s32[] x s32[] words s64[8]", ModeKey::kTrain, 4), dir_.path());
  ASSERT_TRUE(input.ok()) << input.status();
  std::vector<int> batches(3);  // of each bucket
  for (int batch = 0; batch < kMost; ++batch) {
    const std::string rows = input->NextBatch().value();
    const int bucket = input->batches().bucket();
    ASSERT_LT(bucket, 3);
    ++batches[bucket];
    for (int length = 0; length < 9; ++length) {
      const int want = length < 3 ? 0 : length < 6 ? 1 : 2;
      if (absl::StrContains(rows, absl::StrCat("n=", length, " "))) {
        EXPECT_EQ(want, bucket) << rows;
      }
    }
  }
  for (const int of_bucket : batches) EXPECT_GT(of_bucket, 0);
}

TEST_F(BucketedItemsTest, ThreadsDoNotMatter) {
  const std::vector<Batch> want = BatchesOf(OpenWith(kShuffle, "", "num_parallel_calls: 1"));
  ASSERT_EQ(want.size(), kMost);
  for (const int threads : {2, 4, 8}) {
    const std::string fields = absl::StrCat("num_parallel_calls: ", threads);
    EXPECT_EQ(BatchesOf(OpenWith(kShuffle, "", fields)), want) << threads << " threads";
  }
}

TEST_F(BucketedItemsTest, RestoringAfterEveryBatchGivesTheSameRest) {
  const std::vector<std::pair<std::string, std::string>> pipelines = {
      {"", ""},
      {kShuffle, ""},
      {absl::StrCat(kCache, kShuffle), ""},
      {absl::StrCat("transform { repeat {} } ", kShuffle), ""},
      {kShuffle, kRepeats},
      {absl::StrCat("transform { filter { feature: \"x\" } } ", kShuffle), kRepeats}};
  for (const auto& [before, after] : pipelines) {
    SCOPED_TRACE(before + after);
    const std::vector<Batch> whole = BatchesOf(OpenWith(before, after));
    ASSERT_GT(whole.size(), 10);
    for (size_t stop = 0; stop < whole.size(); ++stop) {
      auto resumed = OpenWith(before, after);
      ASSERT_TRUE(resumed.ok()) << resumed.status();
      const absl::Status restored = resumed->batches().Restore(whole[stop].position);
      ASSERT_TRUE(restored.ok()) << restored << " " << whole[stop].position;
      EXPECT_EQ(resumed->batches().Position(), whole[stop].position);
      const std::vector<Batch> rest = BatchesOf(std::move(resumed));
      const size_t known = whole.size() - stop - 1;
      ASSERT_GE(rest.size(), known);
      EXPECT_EQ(std::vector(rest.begin(), rest.begin() + known),
                std::vector(whole.begin() + stop + 1, whole.end()))
          << "after " << stop;
    }
  }
}

// What waits is not lost, of whatever batch size.
TEST_F(BucketedItemsTest, ABatchOfAnotherSizeGoesOnWithWhatWaits) {
  const std::vector<Batch> large = BatchesOf(OpenWith("", "", "", "good", 16));
  ASSERT_GT(large.size(), 2);
  auto resumed = OpenWith("", "", "", "good", 2);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  ASSERT_TRUE(resumed->batches().Restore(large[1].position).ok());
  // The lines before those that may still wait or be drawn ahead.
  std::string rows = large[0].rows + large[1].rows;
  for (int batch = 0; batch < 30; ++batch) rows += resumed->NextBatch().value();
  for (int line = 0; line < 32 + 60 - 6; ++line) {
    EXPECT_TRUE(absl::StrContains(rows, absl::StrCat("x=", line, "\n"))) << line;
  }
}

// Of other boundaries, too: which bucket an item is in is found out again.
TEST_F(BucketedItemsTest, OtherBoundariesGoOnWithWhatWaits) {
  const std::vector<Batch> before = BatchesOf(OpenWith(""));
  auto resumed = Open(Config("", "", "", "good", "[2, 4, 8]"), Args(), dir_.path());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  ASSERT_TRUE(resumed->batches().Restore(before[9].position).ok());
  std::string rows;
  for (int batch = 0; batch < 10; ++batch) rows += before[batch].rows;
  for (int batch = 0; batch < 20; ++batch) rows += resumed->NextBatch().value();
  // All of a pass but those that may wait now.
  int missing = 0;
  for (int line = 0; line < 101; ++line) {
    missing += absl::StrContains(rows, absl::StrCat("x=", line, "\n")) ? 0 : 1;
  }
  EXPECT_LE(missing, 4 * 3);
}

TEST_F(BucketedItemsTest, ATransformBehindTheBatchLeavesTheLength) {
  const auto error = [&](const std::string& after) {
    return std::string(
        Open(Config("", "", after, "good", "3"), Args(), dir_.path()).status().message());
  };
  for (const char* const cast :
       {"transform { cast { feature: \"n\" dtype: INT64 } } ",
        "transform { repeat { count: 2 } } transform { cast { feature: \"n\" dtype: INT64 } } "}) {
    EXPECT_TRUE(absl::StrContains(error(cast),
                                  "cast: behind the batch it changes \"n\", the "
                                  "element_length of its buckets; put it before the "
                                  "batch"))
        << error(cast);
  }
  EXPECT_EQ(error("transform { cast { feature: \"n\" output: \"m\" dtype: INT64 } } "), "");
}

TEST_F(BucketedItemsTest, WhatIsSkippedCountsInNoBucket) {
  for (const std::string& before : {std::string(), std::string(kCache)}) {
    const auto rows = [&](const char* fields, const char* file) {
      std::vector<std::pair<std::string, int>> batches;
      for (const Batch& batch : BatchesOf(OpenWith(before, "", fields, file))) {
        batches.emplace_back(batch.rows, batch.bucket);
      }
      return batches;
    };
    EXPECT_EQ(rows("on_error: SKIP", "bad"), rows("", "good")) << before;
  }
}

// Far more are left out between two batches than may be in a row.
TEST_F(BucketedItemsTest, SkippedElementsAmongGoodOnesAreNotInARow) {
  std::ofstream file(dir_.Path("many"));
  for (int line = 0; line < 4000; ++line) file << (line % 2 == 0 ? "oops" : "1") << ",a\n";
  file.close();
  auto input = OpenWith("", "", "on_error: SKIP", "many", 1500);
  ASSERT_TRUE(input.ok()) << input.status();
  const auto rows = input->NextBatch();
  EXPECT_TRUE(rows.ok()) << rows.status();
}

TEST_F(BucketedItemsTest, ARefusedRowIsAnErrorOfItsPlace) {
  auto input = OpenWith("", "", "", "bad");
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->NextBatch().status().message(),
            dir_.Path("bad") + ":1: column 1 \"x\": want INT32, got \"oops\"");
}

TEST_F(BucketedItemsTest, AStepHasOneBatchOfOneProcess) {
  const std::string config = Config("", "", "", "good", "3");
  InputFnArgs args = Args();
  args.batches_per_step = 2;
  EXPECT_TRUE(absl::StrContains(Open(config, args, dir_.path()).status().message(),
                                "a step has one batch of one bucket, and here it has 2"));
  args = Args();
  args.shard.num_shards = 8;
  EXPECT_TRUE(absl::StrContains(Open(config, args, dir_.path()).status().message(),
                                "a step has one batch of one bucket, and here it has 8"));
  args = Args();
  args.num_processes = 2;
  EXPECT_TRUE(absl::StrContains(Open(config, args, dir_.path()).status().message(),
                                "2 processes would have batches of different buckets"));
}

TEST_F(BucketedItemsTest, ADamagedPositionIsAnError) {
  const std::vector<Batch> batches = BatchesOf(OpenWith(""));
  const std::string& good = batches[3].position;
  const size_t words = good.find(" buckets ");
  ASSERT_NE(words, std::string::npos) << good;
  const std::string begin = good.substr(0, words);
  for (const char* const bad :
       {" buckets", " buckets 1", " buckets 0 4 1 7", " buckets 0 4 9999999 1 0",
        " buckets 0 4 1 5000 0 repeat 0 1 records 1 0", " shuffle 0 1"}) {
    auto input = OpenWith("");
    const absl::Status status = input->batches().Restore(begin + bad);
    EXPECT_TRUE(absl::IsDataLoss(status)) << bad << ": " << status;
    // It still goes on from a good one.
    EXPECT_TRUE(input->batches().Restore(good).ok());
    EXPECT_EQ(input->NextBatch().value(), batches[4].rows);
  }
}

}  // namespace
}  // namespace tpurun
