// rejection_resample: the shares of the classes that stay, and which elements they are, whatever
// the number of threads, behind a restart, and in each pass.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/data/run_input.h"

namespace tpurun {
namespace {

constexpr int kElements = 20000;
constexpr char kResample[] =
    "transform { rejection_resample { feature: \"y\" target_dist: [1, 1, 2] initial_dist: [0.7, "
    "0.2, 0.1] } } ";

// Elements x = 0, 1, ..., of the classes 0, 1 and 2 in seven, two and one of ten.
std::string Config(const std::string& transforms, const std::string& fields = "",
                   int elements = kElements) {
  std::vector<int> x, y;
  for (int i = 0; i < elements; ++i) {
    x.push_back(i);
    y.push_back(i % 10 < 7 ? 0 : i % 10 < 9 ? 1 : 2);
  }
  const auto feature = [](const char* name, const std::vector<int>& values) {
    return absl::StrCat("feature { name: \"", name, "\" int64 { value: [",
                        absl::StrJoin(values, ", "), "] } } ");
  };
  return TrainConfig(absl::StrCat(fields, " source { from_tensor_slices { ", feature("x", x),
                                  feature("y", y), "} } ", transforms));
}

InputFnArgs Args(int64_t seed = 1) {
  InputFnArgs args = FeatureArgs("x s64[] y s64[]", ModeKey::kEval, 64);
  args.seed = seed;
  return args;
}

std::string BatchesOf(const std::string& config, int64_t seed = 1) {
  auto input = Open(config, Args(seed));
  if (!input.ok()) return input.status().ToString();
  const auto batches = input->Batches();
  return batches.ok() ? *batches : batches.status().ToString();
}

std::vector<std::string> RowsOf(const std::string& batches) {
  std::vector<std::string> rows = absl::StrSplit(batches, '\n', absl::SkipEmpty());
  std::erase(rows, "--");
  return rows;
}

TEST(RejectionResampleTest, ClassesGetTheirSharesAndTheRarestStaysWhole) {
  const std::vector<std::string> rows = RowsOf(BatchesOf(Config(kResample)));
  std::map<std::string, double> counts;
  for (const std::string& row : rows) ++counts[row.substr(row.find("y="))];
  // r = target / initial is 1.43, 5 and 20: classes 0 and 1 stay with r / 20.
  EXPECT_EQ(counts["y=2"], kElements / 10);
  const auto expect_count = [&](const char* name, double elements, double probability) {
    const double deviation = std::sqrt(elements * probability * (1 - probability));
    EXPECT_NEAR(counts[name], elements * probability, 4 * deviation) << name;
  };
  expect_count("y=0", 0.7 * kElements, 1 / 0.7 / 20);
  expect_count("y=1", 0.2 * kElements, 1 / 0.2 / 20);
}

TEST(RejectionResampleTest, ThreadsDoNotMatterAndTheSeedDoes) {
  const std::string of_one = BatchesOf(Config(kResample, "num_parallel_calls: 1"));
  EXPECT_EQ(BatchesOf(Config(kResample, "num_parallel_calls: 5")), of_one);
  EXPECT_NE(BatchesOf(Config(kResample, "num_parallel_calls: 5"), 2), of_one);
  // Each of several draws on its own.
  EXPECT_LT(RowsOf(BatchesOf(Config(absl::StrCat(kResample, kResample)))).size(),
            RowsOf(of_one).size() * 3 / 4);
}

TEST(RejectionResampleTest, AnElementIsDrawnByItsPlaceInTheSource) {
  std::vector<std::string> plain = RowsOf(BatchesOf(Config(kResample)));
  const std::string skipped = "transform { skip { count: 100 } } ";
  const std::vector<std::string> shuffled = RowsOf(BatchesOf(
      Config(absl::StrCat(skipped, "transform { shuffle { buffer_size: 1000 } }", kResample))));
  std::erase_if(plain, [](const std::string& row) {
    return std::stoi(row.substr(std::string("x=").size())) < 100;
  });
  EXPECT_NE(shuffled, plain);
  EXPECT_EQ(std::multiset<std::string>(shuffled.begin(), shuffled.end()),
            std::multiset<std::string>(plain.begin(), plain.end()));
}

TEST(RejectionResampleTest, EachPassIsDrawnAnew) {
  const std::vector<std::string> once = RowsOf(BatchesOf(Config(kResample)));
  const std::vector<std::string> twice =
      RowsOf(BatchesOf(Config(absl::StrCat(kResample, "transform { repeat { count: 2 } }"))));
  ASSERT_GT(twice.size(), once.size());
  EXPECT_EQ(std::vector<std::string>(twice.begin(), twice.begin() + once.size()), once);
  EXPECT_NE(std::vector<std::string>(twice.begin() + once.size(), twice.end()), once);
  // It is the same whether the passes are ahead of it or behind it.
  EXPECT_EQ(RowsOf(BatchesOf(Config(absl::StrCat("transform { repeat { count: 2 } }", kResample)))),
            twice);
}

TEST(RejectionResampleTest, ARestartGoesOnWhereItStopped) {
  const std::string config = Config(
      absl::StrCat("transform { shuffle { buffer_size: 50 } }", kResample,
                   "transform { repeat { count: 3 } } transform { shuffle { buffer_size: 20 } }"),
      "", 600);
  InputFnArgs args = Args();
  args.batch_size = 16;
  auto whole = Open(config, args);
  ASSERT_TRUE(whole.ok()) << whole.status();
  int batches = 0;
  while (true) {
    const std::string position = whole->batches().Position();
    auto resumed = Open(config, args);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    ASSERT_TRUE(resumed->batches().Restore(position).ok()) << position;
    const auto want = whole->NextBatch();
    const auto got = resumed->NextBatch();
    ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
    ASSERT_EQ(*got, *want) << position;
    if (want->empty()) break;
    ++batches;
  }
  EXPECT_GT(batches, 10);
}

TEST(RejectionResampleTest, AnElementWithoutAClassIsSkippedWhereErrorsAre) {
  const std::string resample =
      "transform { rejection_resample { feature: \"y\" target_dist: [1, 1] initial_dist: [7, 2] } "
      "}";
  EXPECT_TRUE(absl::StrContains(BatchesOf(Config(resample)), "is class 2, want one of"))
      << resample;
  const std::vector<std::string> rows = RowsOf(BatchesOf(Config(resample, "on_error: SKIP")));
  EXPECT_GT(rows.size(), kElements / 4);
  for (const std::string& row : rows) EXPECT_FALSE(absl::EndsWith(row, "y=2")) << row;
}

}  // namespace
}  // namespace tpurun
