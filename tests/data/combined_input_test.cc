// Inputs of inputs and windows: what testdata/transforms cannot show.
#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/combined_records.h"
#include "data/records.h"
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

TEST(CombinedInputTest, AZipWarnsOfElementsThatAreNotRead) {
  const auto warnings = [](const std::string& first, const std::string& second) {
    std::vector<std::string> warnings;
    InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kEval, 1);
    args.warn = [&](const std::string& message) { warnings.push_back(message); };
    const std::string other =
        absl::StrCat("source { from_tensor_slices { feature { name: \"y\" int64 { value: [", second,
                     "] } } } }");
    const auto input = Open(TrainConfig(absl::StrCat("source { zip { input { ", Slices(first),
                                                     " } input { ", other, " } } }")),
                            args);
    EXPECT_TRUE(input.ok()) << input.status();
    return warnings;
  };
  EXPECT_EQ(warnings("1, 2", "3, 4"), std::vector<std::string>{});
  EXPECT_EQ(warnings("1, 2, 3", "4, 5"),
            std::vector<std::string>{"zip: input[0] has 3 elements, of which only the first 2 are "
                                     "read: another input ends there"});
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

// A transform makes a list of x tens, the next one its sum. `blocks` receives how many rows at a
// time.
Elements ListsAndSums(std::vector<int64_t>* blocks) {
  Table table{.rows = 64};
  table.columns.push_back({.type = {"x", proto::INT64, {}}});
  for (int64_t row = 0; row < table.rows; ++row) table.columns[0].bytes.Append(&row, sizeof row);
  RowTransform lists{.output = {{"list", proto::INT64, {kVaries}}}};
  lists.makes = {"list"};
  lists.apply = [blocks](const RowBatch& rows, Table* out) {
    blocks->push_back(rows.in.rows);
    out->columns[0].Clear();
    for (const int64_t x : rows.in.columns[0].values<int64_t>()) {
      const int64_t dims[] = {x};
      std::fill_n(reinterpret_cast<int64_t*>(out->columns[0].AddRow(dims)), x, 10);
    }
    return absl::OkStatus();
  };
  RowTransform sums{.output = {{"sum", proto::INT64, {}}}};
  sums.makes = {"sum"};
  sums.apply = [](const RowBatch& rows, Table* out) {
    out->columns[0].Clear();
    for (int64_t row = 0; row < rows.in.rows; ++row) {
      const auto [begin, end] = rows.in.columns[0].ElementsOf(row);
      const std::span<const int64_t> list = rows.in.columns[0].values<int64_t>();
      const int64_t sum = std::accumulate(list.begin() + begin, list.begin() + end, int64_t{0});
      out->columns[0].bytes.Append(&sum, sizeof sum);
    }
    return absl::OkStatus();
  };
  return {.records = std::make_unique<TableRecords>(
              std::move(table), std::vector<RowSource>(),
              [](const Origin& origin) { return absl::StrCat("row ", origin.record); }),
          .map = {.transforms = {lists, sums}}};
}

// A transform bounds the memory of a row: a block of an outer input may have 128 of them.
TEST(CombinedInputTest, RowsOfUnknownSizesAreMadeOneByOne) {
  std::vector<int64_t> blocks;
  CombinedInput input(ListsAndSums(&blocks));
  const std::vector<Item> items = {{0}, {3}, {63}, {3}};
  for (const size_t count : {4, 1, 3}) {
    const absl::StatusOr<const Table*> rows = input.Load(std::span(items).first(count), 0);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ((*rows)->rows, count);
    const std::span<const int64_t> sums = (*rows)->column("sum").values<int64_t>();
    ASSERT_EQ(sums.size(), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(sums[i], 10 * items[i].id);
  }
  EXPECT_EQ(blocks, std::vector<int64_t>(8, 1));
}

}  // namespace
}  // namespace tpurun
