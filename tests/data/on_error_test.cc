// on_error: SKIP gives the batches of the same files without the elements that a transform refuses.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

class OnErrorTest : public testing::TestWithParam<int> {
 protected:
  // `rows` lines, of which those with a number in `bad` are not numbers.
  void Write(const std::string& name, int rows, const std::vector<int>& bad, bool leave_out) {
    std::ofstream file(dir_.Path(name));
    for (int row = 0; row < rows; ++row) {
      const bool is_bad = std::find(bad.begin(), bad.end(), row) != bad.end();
      if (is_bad && leave_out) continue;
      file << (is_bad ? "oops" : absl::StrCat(row)) << ",1\n";
    }
  }

  absl::StatusOr<OpenInput> Open(const std::string& file, const std::string& transforms,
                                 const std::string& fields, ModeKey mode = ModeKey::kEval,
                                 int64_t batch_size = 4) {
    InputFnArgs args{
        .mode = mode, .batch_size = batch_size, .features = ParseFeatures("x s32[]"), .seed = 1};
    args.warn = [this](const std::string& message) { warnings_.push_back(message); };
    return tpurun::Open(
        absl::StrCat("train { input { num_parallel_calls: ", GetParam(), " ", fields,
                     " source { text_line { file: \"", file,
                     "\" } } transform { decode_csv { column { name: \"x\" dtype: INT32 } "
                     "column { name: \"kept\" dtype: INT32 } } } ",
                     transforms, " } }"),
        args, dir_.path());
  }

  std::string BatchesOf(const std::string& file, const std::string& transforms,
                        const std::string& fields, ModeKey mode = ModeKey::kEval) {
    auto input = Open(file, transforms, fields, mode);
    if (!input.ok()) return input.status().ToString();
    const auto batches = input->Batches(60);
    return batches.ok() ? *batches : batches.status().ToString();
  }

  const TempDir dir_;
  std::vector<std::string> warnings_;
};

TEST_P(OnErrorTest, TheRestIsAsIfTheElementsWereNotThere) {
  // The first ones, a whole batch, the last one.
  const std::vector<int> bad = {0, 1, 7, 20, 21, 22, 23, 24, 40, 42, 299};
  Write("bad", 300, bad, /*leave_out=*/false);
  Write("good", 300, bad, /*leave_out=*/true);
  for (const char* const transforms :
       {"", "transform { batch { drop_remainder: true } }", "transform { cache {} }",
        "transform { cache {} } transform { repeat { count: 2 } }",
        "transform { filter { feature: \"kept\" } }",
        "transform { filter { feature: \"x\" } } transform { repeat { count: 2 } }"}) {
    SCOPED_TRACE(transforms);
    EXPECT_EQ(BatchesOf("bad", transforms, "on_error: SKIP"), BatchesOf("good", transforms, ""));
  }
}

TEST_P(OnErrorTest, WhatIsLeftOutIsTold) {
  Write("bad", 30, {3, 8, 9}, /*leave_out=*/false);
  BatchesOf("bad", "", "on_error: SKIP");
  const std::string first =
      absl::StrCat(dir_.Path("bad"), ":4: column 1 \"x\": want INT32, got \"oops\"");
  EXPECT_EQ(warnings_,
            (std::vector<std::string>{
                "run.textproto:1:9: on_error: SKIP leaves out an element: " + first,
                "run.textproto:1:9: on_error: SKIP has left out 3 elements; the first: " + first}));
}

TEST_P(OnErrorTest, WithoutItTheFirstIsAnError) {
  Write("bad", 30, {3, 8, 9}, /*leave_out=*/false);
  EXPECT_TRUE(absl::StrContains(BatchesOf("bad", "", ""), "bad:4: column 1"));
}

TEST_P(OnErrorTest, AThousandInARowAreAnError) {
  std::vector<int> bad;
  for (int row = 10; row < 1010; ++row) bad.push_back(row);
  Write("bad", 2000, bad, /*leave_out=*/false);
  for (const char* const transforms :
       {"", "transform { cache {} }", "transform { filter { feature: \"kept\" } }"}) {
    EXPECT_TRUE(absl::StrContains(BatchesOf("bad", transforms, "on_error: SKIP"),
                                  "DATA_LOSS: on_error: SKIP has left out 1000 elements in a row; "
                                  "the last of them: "))
        << transforms;
  }
  bad.pop_back();
  Write("bad", 2000, bad, /*leave_out=*/false);
  EXPECT_TRUE(absl::StartsWith(BatchesOf("bad", "", "on_error: SKIP"), "x=0\n"));
}

TEST_P(OnErrorTest, ThoseBehindAFilterAreInARowToo) {
  std::ofstream(dir_.Path("bad")) << "1,1\n2,1\n3,1\n";
  // Strings that are no four bytes, all of which the filter lets pass.
  auto input = tpurun::Open(
      absl::StrCat(
          "train { input { num_parallel_calls: ", GetParam(),
          " on_error: SKIP source { text_line { file: \"bad\" } } transform { decode_csv { "
          "column { name: \"s\" dtype: STRING } column { name: \"kept\" dtype: INT32 } } } "
          "transform { filter { feature: \"kept\" } } transform { decode_raw { feature: "
          "\"s\" output: \"x\" dtype: INT32 } } transform { repeat {} } } }"),
      {.mode = ModeKey::kEval, .batch_size = 4, .features = ParseFeatures("x s32[]")}, dir_.path());
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_TRUE(absl::StrContains(input->NextBatch().status().message(),
                                "on_error: SKIP has left out 1000 elements in a row"));
}

TEST_P(OnErrorTest, OneBehindACacheOrAFilterIsTold) {
  Write("bad", 30, {3}, /*leave_out=*/false);
  for (const char* const transforms :
       {"transform { cache {} }", "transform { filter { feature: \"x\" } }"}) {
    warnings_.clear();
    BatchesOf("bad", transforms, "on_error: SKIP");
    ASSERT_EQ(warnings_.size(), 1) << transforms;
    EXPECT_TRUE(absl::StrContains(warnings_[0], "on_error: SKIP leaves out an element: "));
  }
}

// What a decoder knows of a file's header is not what it has tried.
TEST_P(OnErrorTest, AFileWithoutAColumnIsLeftOut) {
  std::ofstream(dir_.Path("a")) << "b,x\n0,1\n0,2\n";
  std::ofstream(dir_.Path("b")) << "b,y\n0,1\n0,2\n";
  const auto input = [](const char* file) {
    return absl::StrCat("input { source { text_line { file: \"", file, "\" header: true } } } ");
  };
  auto sampled = tpurun::Open(
      absl::StrCat("train { input { num_parallel_calls: ", GetParam(),
                   " on_error: SKIP source { sample_from_datasets { ", input("a"), input("b"),
                   "} } transform { shuffle { buffer_size: 2 } } transform { decode_csv { column { "
                   "name: \"x\" dtype: INT32 } } } } }"),
      {.mode = ModeKey::kEval, .batch_size = 4, .features = ParseFeatures("x s32[]")}, dir_.path());
  EXPECT_TRUE(absl::StrContains(sampled.status().message(), "b:1: the header has no column"))
      << sampled.status();
}

TEST_P(OnErrorTest, AllOfThemAreAnEmptyInput) {
  Write("bad", 5, {0, 1, 2, 3, 4}, /*leave_out=*/false);
  EXPECT_TRUE(absl::StrContains(BatchesOf("bad", "", "on_error: SKIP"), "has no elements"));
}

TEST_P(OnErrorTest, APositionIsBehindWhatWasLeftOut) {
  const std::vector<int> bad = {0, 3, 4, 5, 6, 7, 11, 26};
  Write("bad", 30, bad, /*leave_out=*/false);
  const std::string transforms =
      "transform { shuffle { buffer_size: 9 } } transform { repeat { count: 3 } }";
  auto whole = Open("bad", transforms, "on_error: SKIP");
  ASSERT_TRUE(whole.ok()) << whole.status();
  std::vector<std::string> positions, rests;
  while (true) {
    positions.push_back(whole->batches().Position());
    const auto batch = whole->NextBatch();
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (batch->empty()) break;
    rests.push_back(*batch);
  }
  ASSERT_EQ(rests.size(), 17);  // of 3 * 22 elements
  for (size_t stop = 0; stop < rests.size(); ++stop) {
    auto resumed = Open("bad", transforms, "on_error: SKIP");
    ASSERT_TRUE(resumed->batches().Restore(positions[stop]).ok());
    for (size_t i = stop; i < rests.size(); ++i) EXPECT_EQ(*resumed->NextBatch(), rests[i]);
  }
}

TEST_P(OnErrorTest, ARepeatOfWholeBatchesIsRefused) {
  Write("bad", 30, {3}, /*leave_out=*/false);
  EXPECT_TRUE(absl::StrContains(
      BatchesOf("bad", "transform { batch { drop_remainder: true } } transform { repeat {} }",
                "on_error: SKIP"),
      "repeat after batch: with on_error: SKIP it is not known where a pass has its last whole "
      "batch; put it before batch"));
}

INSTANTIATE_TEST_SUITE_P(Threads, OnErrorTest, testing::Values(1, 2, 5));

}  // namespace
}  // namespace tpurun
