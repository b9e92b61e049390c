// What `summary` says of the command lines of testdata/summary/*.txt: its rows, then a line "error:
// " for each mistake.
#include "cli/summary.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
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

}  // namespace
}  // namespace tpurun
