// Inputs of inputs and windows: what testdata/transforms cannot show.
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/data/run_input.h"

namespace tpurun {
namespace {

std::string Sampled(const std::string& first, const std::string& second,
                    const std::string& transforms, const std::string& fields = "") {
  return absl::StrCat("source { sample_from_datasets { input { ", first, " } input { ", second,
                      " } ", fields, " } }\n", transforms);
}

std::string Slices(const std::string& values) {
  return absl::StrCat("source { from_tensor_slices { feature { name: \"x\" int64 { value: [",
                      values, "] } } } }");
}

TEST(CombinedInputTest, CountsThatOverflowAreTheLargest) {
  const std::string endless = absl::StrCat(Slices("1, 2"),
                                           " transform { repeat { count: 2147483648 } } "
                                           "transform { repeat { count: 2147483648 } }");
  auto input =
      Open(TrainConfig(Sampled(endless, endless, "transform { shuffle { buffer_size: 4 } }")),
           FeatureArgs("x s64[]", ModeKey::kTrain));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_TRUE(input->NextBatch().ok());
}

TEST(CombinedInputTest, ShardsOfASampleHaveEachElementOnce) {
  std::multiset<std::string> rows;
  for (int shard = 0; shard < 4; ++shard) {
    InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kEval, 1);
    args.shard = {.num_shards = 4, .index = shard};
    auto input = Open(TrainConfig(Sampled(absl::StrCat(Slices("0, 1, 2, 3, 4"),
                                                       " transform { shuffle { "
                                                       "buffer_size: 5 } }"),
                                          Slices("5, 6, 7, 8, 9"), "")),
                      args);
    ASSERT_TRUE(input.ok()) << input.status();
    while (true) {
      const std::string row = input->NextBatch().value();
      if (row.empty()) break;
      rows.insert(row);
    }
  }
  EXPECT_EQ(rows.size(), 10);
  EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), 10);
}

TEST(CombinedInputTest, APositionBelongsToTheWeights) {
  const auto open = [](const std::string& fields) {
    return Open(TrainConfig(Sampled(Slices("1, 2"), Slices("3, 4"), "", fields)),
                FeatureArgs("x s64[]"));
  };
  const std::string position = open("weight: [1, 2]")->batches().Position();
  EXPECT_TRUE(open("weight: [1, 2]")->batches().Restore(position).ok());
  EXPECT_FALSE(open("weight: [1, 3]")->batches().Restore(position).ok());
  EXPECT_FALSE(
      open("weight: [1, 2] stop_on_empty_dataset: true")->batches().Restore(position).ok());
}

TEST(CombinedInputTest, WindowsThatAreTooLargeAreRefused) {
  EXPECT_EQ(ErrorOfInput(absl::StrCat(Slices("1, 2"),
                                      "\ntransform { window { size: 1048576 } }\n"
                                      "transform { window { size: 1048576 } }"),
                         FeatureArgs("x s64[]")),
            "INVALID_ARGUMENT: run.textproto:4:22: window: shape [1048576,1048576] has more than "
            "2^28 values");
}

TEST(CombinedInputTest, ThePassOfAWindowOfAnEndlessInputIsNotCounted) {
  auto input = Open(TrainConfig(absl::StrCat(Slices("1, 2, 3"),
                                             " transform { repeat {} } transform { "
                                             "window { size: 4 shift: 1 } }")),
                    FeatureArgs("x s64[4]", ModeKey::kTrain));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->source().examples_per_epoch, -1);
}

TEST(CombinedInputTest, ARepeatInAnInputNeedsACacheOfStandardInput) {
  const auto error = [](const std::string& transforms) {
    return ErrorOfInput(
        Sampled(absl::StrCat("source { text_line { file: \"-\" } } transform { decode_csv "
                             "{ column { name: \"x\" dtype: INT64 } } } ",
                             transforms),
                Slices("1"), ""),
        FeatureArgs("y s64[]", ModeKey::kTrain));
  };
  const std::string unreadable =
      "repeat: standard input can be read only once; add transform { "
      "cache {} } before it";
  const std::string no_feature = "feature \"y\" of the model is not in the input";
  EXPECT_TRUE(absl::StrContains(error("transform { repeat {} }"), unreadable));
  const std::string cached = error("transform { cache {} } transform { repeat {} }");
  EXPECT_FALSE(absl::StrContains(cached, unreadable)) << cached;
  EXPECT_TRUE(absl::StrContains(cached, no_feature)) << cached;
}

}  // namespace
}  // namespace tpurun
