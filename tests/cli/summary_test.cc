// What `summary` says of the command lines of testdata/summary/*.txt: its rows, then a line "error:
// " for each mistake.
#include "cli/summary.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/json.h"
#include "cli/verb_table.h"
#include "runtime/base/status.h"
#include "tests/golden.h"

namespace tpurun {
namespace {

std::string SummaryOf(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"summary"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const absl::StatusOr<CommandLine> command = ParseCommandLine(arguments, Verbs());
  if (!command.ok()) return absl::StrCat("error: ", command.status().message(), "\n");
  std::ostringstream out;
  const absl::Status status = Summarize(*command, command->GetString("format") == "json", out);
  if (status.ok()) return out.str();
  EXPECT_EQ(ExitCode(status), 2) << status;
  for (const std::string& line : ErrorLines(status)) out << "error: " << line << "\n";
  return out.str();
}

TEST(SummaryTest, GivesTheGoldenText) {
  const std::vector<std::string> files = TextFiles("testdata/summary");
  EXPECT_GE(files.size(), 8u);
  for (const std::string& path : files) {
    std::vector<std::string> flags;
    for (absl::string_view line : absl::StrSplit(GoldenInput(path), '\n', absl::SkipEmpty())) {
      if (line.front() != '#') flags.emplace_back(line);
    }
    ExpectGolden(path, SummaryOf(flags));
  }
}

struct Counts {
  std::string name;
  int64_t parameters;
  int64_t flops;  // of an example
};

void ExpectCounts(const std::string& config, const std::vector<Counts>& counts,
                  int64_t optimizer_parameters) {
  std::map<std::string, Json> rows;
  const std::string text =
      SummaryOf({absl::StrCat("--config=testdata/", config, "/run.textproto"), "--format=json"});
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const Json row = Json::parse(line);
    if (row["kind"] == "layer") rows[row["name"]] = row;
    if (row["kind"] == "model") rows[""] = row;
  }
  Counts all = {"", 0, 0};
  for (const Counts& want : counts) {
    ASSERT_TRUE(rows.count(want.name)) << want.name << " is not in " << text;
    EXPECT_EQ(rows[want.name]["parameters"], want.parameters) << config << " " << want.name;
    EXPECT_EQ(rows[want.name]["trainable_parameters"], want.parameters) << want.name;
    EXPECT_EQ(rows[want.name]["flops"], want.flops) << config << " " << want.name;
    all.parameters += want.parameters;
    all.flops += want.flops;
  }
  EXPECT_EQ(rows[""]["parameters"], all.parameters) << config;
  EXPECT_EQ(rows[""]["bytes"], 4 * all.parameters) << config;
  EXPECT_EQ(rows[""]["flops"], all.flops) << config;
  EXPECT_EQ(rows[""]["non_trainable_parameters"], 0) << config;
  EXPECT_EQ(rows[""]["optimizer_parameters"], optimizer_parameters) << config;
}

TEST(SummaryTest, CountsWhatPaperSays) {
  ExpectCounts("iris",
               {{"features", 0, 0},
                {"hidden_1", 4 * 10 + 10, 2 * 4 * 10 + 10 + 10},
                {"hidden_2", 10 * 10 + 10, 2 * 10 * 10 + 10 + 10},
                {"logits", 10 * 3 + 3, 2 * 10 * 3 + 3}},
               193);
  ExpectCounts("digits",
               {{"conv2d", 3 * 3 * 1 * 16 + 16, 8 * 8 * 16 * (2 * 3 * 3 * 1 + 1 + 1)},
                {"max_pooling2d", 0, 4 * 4 * 16 * 3},
                {"conv2d_1", 3 * 3 * 16 * 32 + 32, 4 * 4 * 32 * (2 * 3 * 3 * 16 + 1 + 1)},
                {"max_pooling2d_1", 0, 2 * 2 * 32 * 3},
                {"flatten", 0, 0},
                {"dense", 2 * 2 * 32 * 64 + 64, 64 * (2 * 2 * 2 * 32 + 1 + 1)},
                {"dropout", 0, 0},
                {"logits", 64 * 10 + 10, 10 * (2 * 64 + 1)}},
               2 * 13706 + 2);
  ExpectCounts("mnist",
               {{"conv2d", 5 * 5 * 1 * 32 + 32, 28 * 28 * 32 * (2 * 5 * 5 * 1 + 1 + 1)},
                {"max_pooling2d", 0, 14 * 14 * 32 * 3},
                {"conv2d_1", 5 * 5 * 32 * 64 + 64, 14 * 14 * 64 * (2 * 5 * 5 * 32 + 1 + 1)},
                {"max_pooling2d_1", 0, 7 * 7 * 64 * 3},
                {"flatten", 0, 0},
                {"dense", 7 * 7 * 64 * 128 + 128, 128 * (2 * 7 * 7 * 64 + 1 + 1)},
                {"dropout", 0, 0},
                {"logits", 128 * 10 + 10, 10 * (2 * 128 + 1)}},
               454922);
}

TEST(SummaryTest, TheRowsOfNestedLayersAddUp) {
  const std::string text =
      SummaryOf({"--config=testdata/summary/nested_run.textproto", "--format=json"});
  std::vector<int64_t> sums = {0, 0, 0, 0};
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const Json row = Json::parse(line);
    if (row["kind"] != "layer") continue;
    const int depth = row["depth"];
    sums[depth] += row["parameters"].get<int64_t>();
    // The dense layers of both copies stand two below the sequence, and all it has is theirs.
    if (row["name"] == "block") {
      EXPECT_EQ(row["parameters"], 2 * (8 * 8 + 8 + 8 * 8)) << line;
    }
  }
  EXPECT_EQ(sums[0], 6 * 8 + 8 + 2 * (8 * 8 + 8 + 8 * 8) + 8 * 5 + 5 + 8 * 3 + 3) << text;
  EXPECT_EQ(sums[1], 2 * (8 * 8 + 8 + 8 * 8)) << text;
  EXPECT_EQ(sums[2], sums[1]) << text;
}

// The messages and bytes of each kind, of the flags.
std::map<std::string, std::pair<int64_t, int64_t>> TrafficOf(std::vector<std::string> flags) {
  flags.push_back("--format=json");
  const std::string text = SummaryOf(flags);
  std::map<std::string, std::pair<int64_t, int64_t>> traffic;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const Json row = Json::parse(line);
    if (row["kind"] == "traffic") traffic[row["what"]] = {row["messages"], row["bytes"]};
  }
  return traffic;
}

using Traffic = std::map<std::string, std::pair<int64_t, int64_t>>;
constexpr char kIris[] = "--config=testdata/iris/run.textproto";
constexpr char kMnist[] = "--config=testdata/mnist/run.textproto";

TEST(SummaryTest, TrafficIsThatOfPaper) {
  // 193 gradients are one short sum, which is sent whole in each of log2(processes) rounds. Besides
  // 8 bytes of each process's loss and 4 of its vote are gathered: 1, 2, 4 ... of them a round.
  const std::vector<std::string> iris = {kIris, "--unset", "tpu_config.num_shards",
                                         "--train_batch_size=512"};
  const auto of = [&](int processes) {
    std::vector<std::string> flags = iris;
    flags.push_back(absl::StrCat("--processes=", processes));
    return TrafficOf(flags);
  };
  EXPECT_EQ(of(2), (Traffic{{"gradients", {1, 4 * 193}},
                            {"loss and votes", {2, 12}},
                            {"all", {3, 4 * 193 + 12}}}));
  EXPECT_EQ(of(8), (Traffic{{"gradients", {3, 3 * 4 * 193}},
                            {"loss and votes", {6, 7 * 12}},
                            {"all", {9, 3 * 4 * 193 + 7 * 12}}}));
  EXPECT_TRUE(TrafficOf({kIris}).empty());
}

TEST(SummaryTest, TrafficOfLongAndShortGradients) {
  // The kernels of conv2d_1 (51200) and dense (401408) are sums of their own. What is shorter than
  // 64 KiB is one sum: 800 + 32 + 64 + 128 + 1280 + 10 = 2314 elements. Two processes halve each at
  // a multiple of 16; one sends 1152 of the 2314 and then 1162 of them, or the other way around.
  // A half of dense's is 802816 bytes, less than a piece.
  EXPECT_EQ(TrafficOf({kMnist, "--unset", "tpu_config.num_shards", "--train_batch_size=512",
                       "--processes=2"}),
            (Traffic{{"gradients", {6, 4 * (51200 + 401408 + 2314)}},
                     {"loss and votes", {2, 12}},
                     {"all", {8, 4 * (51200 + 401408 + 2314) + 12}}}));
}

TEST(SummaryTest, TrafficOfStatisticsOfGroups) {
  // 16 replicas in two groups, 10 units. Forward each group's sums of means and of mean squares are
  // gathered: 8 replicas of a process give 10 numbers each, twice. So it is with their gradients.
  const Traffic traffic =
      TrafficOf({kIris, "--set", "tpu_config.num_shards=16", "--train_batch_size=128",
                 "--processes=2", "--set",
                 "model.layer=[{ concat {} input: [\"SepalLength\", \"SepalWidth\"] },"
                 "{ name: \"hidden\" dense { units: 10 } }, { batch_normalization {"
                 "group_assignment { replica: [0, 2, 4, 6, 8, 10, 12, 14] }"
                 "group_assignment { replica: [1, 3, 5, 7, 9, 11, 13, 15] } } },"
                 "{ name: \"logits\" dense { units: 3 } }]"});
  ASSERT_TRUE(traffic.count("statistics of layers"));
  EXPECT_EQ(traffic.at("statistics of layers"), std::pair(int64_t{4}, int64_t{4 * 8 * 10 * 4}));
}

TEST(SummaryTest, TrafficOfRowsOfATable) {
  // Each of two processes reads 32 of 1000 rows: it sends their ids and 8 gradients of each. 27
  // gradients of the layer of 3 units are one sum.
  EXPECT_EQ(TrafficOf({"--config=testdata/summary/rows_run.textproto", "--processes=2"}),
            (Traffic{{"rows of tables", {2, 32 * 4 + 32 * 8 * 4}},
                     {"gradients", {1, 27 * 4}},
                     {"loss and votes", {2, 12}},
                     {"all", {5, 32 * 4 + 32 * 8 * 4 + 27 * 4 + 12}}}));
}

TEST(SummaryTest, TheForecastIsThatOfPaper) {
  std::vector<Json> rows;
  const std::string text = SummaryOf(
      {kIris, "--unset", "tpu_config.num_shards", "--train_batch_size=512", "--processes=4",
       "--step_seconds=0.01", "--fabric_latency=1ms", "--fabric_bandwidth=1MB", "--format=json"});
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const Json row = Json::parse(line);
    if (row["kind"] == "forecast") rows.push_back(row);
  }
  ASSERT_EQ(rows.size(), 3u) << text;
  const double of_1 = 0.01;
  const double of_2 = of_1 + 3e-3 + (4 * 193 + 12) * 1e-6;
  const double of_4 = of_1 + 6e-3 + (2 * 4 * 193 + 3 * 12) * 1e-6;
  const double want[] = {of_1, of_2, of_4};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i]["processes"], 1 << i);
    EXPECT_NEAR(rows[i]["step_seconds"].get<double>(), want[i], 1e-9) << i;
    EXPECT_NEAR(rows[i]["efficiency"].get<double>(), of_1 / want[i], 1e-6) << i;
    EXPECT_EQ(rows[i]["latency"], 1e-3);
    EXPECT_EQ(rows[i]["bandwidth"], 1e6);
  }
}

}  // namespace
}  // namespace tpurun
