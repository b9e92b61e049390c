// What `init` writes: each testdata/init/*.txt holds a line "csv", "jsonl", "series" or "tfrecord",
// with "--label=NAME" or without, and the data, a row a line or a tf.Example in text format a line;
// after the line
// "---" the files, each behind "== NAME", or the error.
//   bazel run //tests/cli:init_test -- --update_goldens
// rewrites those; read every line of the difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "cli/init_plan.h"
#include "cli/init_text.h"
#include "data/init/column.h"
#include "data/init/column_format.h"
#include "data/init/csv_table.h"
#include "data/init/examples.h"
#include "data/init/json_table.h"
#include "data/init/text_words.h"
#include "data/init/time_steps.h"
#include "google/protobuf/text_format.h"
#include "models/model_builder.h"
#include "proto/example.pb.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "tests/golden.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

class InitTest : public ::testing::Test {
 protected:
  absl::StatusOr<InitPlan> PlanCsv(const std::string& text, const TableOptions& options = {},
                                   const std::string& kind = "csv") {
    EXPECT_TRUE(WriteFileAtomically(dir_.Path("data"), text).ok());
    // Comments name places in the file, and break where it is called something else.
    const std::filesystem::path from = std::filesystem::current_path();
    std::filesystem::current_path(dir_.path());
    const auto texts = [&](const InspectedTable& seen) { return FindTextColumns(seen, options); };
    const absl::StatusOr<InspectedTable> table =
        kind == "jsonl"    ? InspectJson({"data"}, {}, kInitShards, texts)
        : kind == "series" ? InspectSeries({"data"})
                           : InspectCsv({"data"}, {}, kInitShards, texts);
    std::filesystem::current_path(from);
    RETURN_IF_ERROR(table.status());
    if (kind != "series") return PlanTable(*table, options);
    return PlanSeries(*table, {.labels = absl::StrSplit(options.label, ',', absl::SkipEmpty()),
                               .ignore = options.ignore,
                               .window = 3,
                               .horizon = 2,
                               .model = PlannedSeries::Model::kLstm});
  }

  static absl::StatusOr<InitPlan> PlanText(const std::string& text, const std::string& label) {
    ExampleInspector inspector;
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      tensorflow::Example example;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
          absl::StrCat("features { ", line, " }"), &example))
          << line;
      inspector.Add(example);
    }
    return PlanExamples(inspector, {}, label);
  }

  // The files, or the error.
  std::string Init(absl::string_view input) {
    const std::vector<std::string> parts = absl::StrSplit(input, absl::MaxSplits('\n', 1));
    const std::vector<std::string> head = absl::StrSplit(parts[0], " --label=");
    const std::string kind = head[0], label = head.size() > 1 ? head[1] : "";
    const absl::StatusOr<InitPlan> plan =
        kind == "tfrecord" ? PlanText(parts[1], label) : PlanCsv(parts[1], {.label = label}, kind);
    if (!plan.ok()) {
      return absl::StrCat(plan.status().ToString(), "\n");
    }
    std::string text;
    for (const auto& [name, content] : InitFiles(*plan, {.train = {"data"}, .eval = {"data"}})) {
      EXPECT_TRUE(WriteFileAtomically(dir_.Path(name), content).ok());
      absl::StrAppend(&text, "== ", name, "\n", content);
    }
    for (const std::string& warning : plan->warnings) absl::StrAppend(&text, warning, "\n");
    CheckConfig();
    return text;
  }

  // That the verbs take what was written.
  void CheckConfig() {
    ConfigErrors errors;
    const absl::StatusOr<LoadedConfig> config =
        LoadConfig({.config_path = dir_.Path(kInitRunFile)}, errors);
    ASSERT_TRUE(config.ok()) << config.status();
    ValidateConfig(*config, {.train = true, .evaluate = true, .predict = true}, errors);
    ParseModel(config->model, config->locations, errors);
    EXPECT_THAT(errors.Lines(config->locations), testing::IsEmpty());
  }

  TempDir dir_;
};

TEST_F(InitTest, Goldens) {
  const std::vector<std::string> files = TextFiles("testdata/init");
  EXPECT_GE(files.size(), 10);
  for (const std::string& file : files) ExpectGolden(file, Init(GoldenInput(file)));
}

// 2, 4, 4, 4, 5, 5, 7, 9: the mean is 5, the standard deviation 2.
TEST(NumberStatisticsTest, MeanAndStandardDeviationOfAllTogether) {
  NumberStatistics first, second;
  for (const double value : {9, 2, 4}) first.Add(value);
  for (const double value : {4, 5, 7, 5, 4}) second.Add(value);
  first.Merge(second);
  first.Merge(NumberStatistics());
  EXPECT_EQ(first.count, 8);
  EXPECT_DOUBLE_EQ(first.mean, 5);
  EXPECT_DOUBLE_EQ(first.stddev(), 2);
  EXPECT_EQ(first.min, 2);
  EXPECT_EQ(first.max, 9);
  NumberStatistics merged;
  merged.Merge(first);
  EXPECT_DOUBLE_EQ(merged.stddev(), 2);
}

// Naive sums of squares have no digit left here.
TEST(NumberStatisticsTest, AStandardDeviationFarFromZero) {
  NumberStatistics numbers;
  for (const double value : {1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4}) numbers.Add(value);
  EXPECT_DOUBLE_EQ(numbers.mean, 1e9 + 2.5);
  EXPECT_NEAR(numbers.stddev(), 1.118033988749895, 1e-6);
}

TEST(ValueCountsTest, MoreThanItKeepsAreForgotten) {
  ValueCounts counts;
  for (size_t i = 0; i < ValueCounts::kMost; ++i) counts.Add(absl::StrCat(i), i % 2 == 0);
  counts.Add("1", false);
  EXPECT_TRUE(counts.complete());
  EXPECT_EQ(counts.map().size(), ValueCounts::kMost);
  EXPECT_EQ(counts.map().at("1").all, 2);
  EXPECT_EQ(counts.map().at("1").train, 2);
  EXPECT_EQ(counts.map().at("2").train, 0);
  EXPECT_GT(counts.bytes(), 0);
  counts.Add("another", false);
  EXPECT_FALSE(counts.complete());
  EXPECT_TRUE(counts.map().empty());
  EXPECT_EQ(counts.bytes(), 0);
}

// Counts as Python's collections.Counter has them of the same words.
TEST(TextWordsTest, TheMostFrequentWordsOfTheTextsToTrain) {
  TextWords words;
  words.Add("The café; the CAFÉ's THE end.", false);
  words.Add("an end\tof it", false);
  words.Add("", false);
  words.Add("held out out out", true);
  EXPECT_EQ(words.texts(), 3);
  EXPECT_EQ(words.different(), 7);
  EXPECT_THAT(words.MostFrequent(3, 1), testing::ElementsAre("the", "end", "an"));
  EXPECT_THAT(words.MostFrequent(10, 2), testing::ElementsAre("the", "end"));
  EXPECT_EQ(words.Length(0.3), 0);
  EXPECT_EQ(words.Length(0.5), 4);
  EXPECT_EQ(words.Length(1), 6);
  EXPECT_EQ(TextWords().Length(0.95), 0);
}

TEST(TextWordsTest, RareWordsAreForgottenWhereThereAreTooMany) {
  TextWords words(20000);
  for (int i = 0; i < 5000; ++i) {
    words.Add(absl::StrCat("often word", i, i % 10 == 0 ? " sometimes" : ""), false);
  }
  EXPECT_GT(words.pruned(), 0);
  EXPECT_LT(words.different(), 400);
  EXPECT_THAT(words.MostFrequent(2, 1), testing::ElementsAre("often", "sometimes"));
  words.Add(std::string(TextWords::kMostWordBytes + 1, 'x'), false);
  EXPECT_THAT(words.MostFrequent(1000, 1), testing::Each(testing::SizeIs(testing::Lt(20))));
}

TEST(ValueCountsTest, TheLargestAreForgottenFirst) {
  std::vector<InspectedColumn> columns(3);
  const auto where = [] { return ""; };
  for (int i = 0; i < 100; ++i) {
    columns[0].AddText(absl::StrCat(i), false, where);
    columns[1].AddText(absl::StrCat(i, std::string(10000, 'x')), false, where);
    columns[2].AddText(absl::StrCat(i, std::string(1000, 'x')), false, where);
    BoundValueCounts({&columns[0], &columns[1], &columns[2]}, 500000);
  }
  EXPECT_TRUE(columns[0].values().complete());
  EXPECT_FALSE(columns[1].values().complete());
  EXPECT_TRUE(columns[2].values().complete());
}

// The number of rows of "x,y" that repeat so many texts.
std::string ManyWords(int rows, int words) {
  std::string text = "x,word,y\n";
  for (int row = 0; row < rows; ++row) {
    absl::StrAppend(&text, row % 7, ",w", row % words, ",", row % 3 == 0 ? "a" : "b", "\n");
  }
  return text;
}

TEST_F(InitTest, ALongVocabularyIsAFile) {
  const absl::StatusOr<InitPlan> plan = PlanCsv(ManyWords(300, 51));
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto files = InitFiles(*plan, {.train = {"data"}, .eval = {"data"}});
  ASSERT_EQ(files.count("word.vocabulary.txt"), 1);
  const std::vector<std::string> words =
      absl::StrSplit(files.at("word.vocabulary.txt"), '\n', absl::SkipEmpty());
  EXPECT_EQ(words.size(), 51);
  EXPECT_EQ(words.front(), "w0");
  EXPECT_EQ(words.back(), "w9");
  EXPECT_THAT(files.at(kInitRunFile),
              testing::HasSubstr("lookup { feature: \"word\" vocabulary_file: "
                                 "\"word.vocabulary.txt\" }"));
  EXPECT_THAT(files.at(kInitModelFile), testing::HasSubstr("one_hot { depth: 51 }"));
}

TEST_F(InitTest, OnlyTheMostFrequentOfTooManyWordsAreKnown) {
  std::string text = ManyWords(9000, 3000);
  for (int i = 0; i < 20; ++i) absl::StrAppend(&text, i, ",often,a\n");
  const absl::StatusOr<InitPlan> plan = PlanCsv(text);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<std::string>& words = plan->features[1].vocabulary;
  EXPECT_EQ(words.size(), 1000);
  EXPECT_EQ(std::count(words.begin(), words.end(), "often"), 1);
  EXPECT_EQ(plan->features[1].comment, "3001 words, the 1000 most frequent are known");
}

TEST_F(InitTest, TextsWithoutEndAreLeftOut) {
  const absl::StatusOr<InitPlan> plan = PlanCsv(ManyWords(50000, 20001));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->features[1].kind, PlannedFeature::Kind::kLeftOut);
  EXPECT_EQ(plan->features[1].comment, "more than 20000 different texts");
}

TEST_F(InitTest, IdsIgnoredColumnsAndIndicators) {
  std::string text = "shop,row,x,y\n";
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&text, 100 + i % 7, ",", i, ",");
    if (i % 4 != 0) absl::StrAppend(&text, i % 9);
    absl::StrAppend(&text, i % 3 == 0 ? ",a\n" : ",b\n");
  }
  const absl::StatusOr<InitPlan> plan =
      PlanCsv(text, {.ids = {"shop"}, .ignore = {"row"}, .missing_indicator = true});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->features.size(), 5);
  EXPECT_EQ(plan->features[0].kind, PlannedFeature::Kind::kCategory);
  EXPECT_EQ(plan->features[0].vocabulary.front(), "100");
  EXPECT_EQ(plan->features[1].comment, "--ignore names it");
  EXPECT_EQ(plan->features[2].missing_indicator, "x_is_missing");
  EXPECT_EQ(plan->features[4].kind, PlannedFeature::Kind::kIndicator);
  const auto files = InitFiles(*plan, {.train = {"data"}, .eval = {"data"}});
  EXPECT_THAT(files.at(kInitRunFile), testing::HasSubstr("missing_indicator: \"x_is_missing\""));
  EXPECT_THAT(files.at(kInitModelFile), testing::HasSubstr("feature { name: \"x_is_missing\" }"));
  EXPECT_EQ(PlanCsv(text, {.ids = {"shop"}, .ignore = {"shop"}}).status().message(),
            "--ids: column \"shop\" is named by --ignore too");
}

TEST_F(InitTest, AnIndicatorOfAnArrayHasItsShape) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, "{\"v\": [[", i % 4, ", ", i % 5 == 0 ? "null" : "2", "]], \"y\": \"",
                    i % 3 == 0 ? "a" : "b", "\"}\n");
  }
  const absl::StatusOr<InitPlan> plan = PlanCsv(text, {.missing_indicator = true}, "jsonl");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->features.size(), 3);
  EXPECT_EQ(plan->features[2].name, "v_is_missing");
  EXPECT_THAT(plan->features[2].shape, testing::ElementsAre(1, 2));
  const auto files = InitFiles(*plan, {.train = {"data"}, .eval = {"data"}});
  EXPECT_THAT(files.at(kInitModelFile),
              testing::HasSubstr("feature { name: \"v_is_missing\" shape: [1, 2] }"));
  EXPECT_THAT(files.at(kInitModelFile), testing::HasSubstr("flatten {} input: \"v_is_missing\""));
}

// decode_json takes no value that is another one's part.
TEST_F(InitTest, AValueThatIsAnObjectInOtherRowsIsLeftOut) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, "{\"a\": ", i % 2 == 0 ? absl::StrCat("{\"b\": ", i % 9, "}") : "3",
                    ", \"y\": ", i % 3 == 0, "}\n");
  }
  const absl::StatusOr<InitPlan> plan = PlanCsv(text, {.label = "y"}, "jsonl");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->features.size(), 3);
  EXPECT_EQ(plan->features[0].title, "/a/b");
  EXPECT_EQ(plan->features[0].kind, PlannedFeature::Kind::kNumber);
  EXPECT_EQ(plan->features[2].title, "a");
  EXPECT_EQ(plan->features[2].kind, PlannedFeature::Kind::kLeftOut);
  EXPECT_EQ(plan->features[2].comment, "objects and other values");
  EXPECT_EQ(PlanCsv(text, {.label = "a"}, "jsonl").status().message(),
            "label \"a\": is objects and other values, want a number or a text");
}

TEST_F(InitTest, ASeriesLeavesOutWhatCountsItsRows) {
  std::string text = "i,name,v\n";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, i, ",row ", i, ",", i % 7, "\n");
  const absl::StatusOr<InitPlan> plan = PlanCsv(text, {.label = "v"}, "series");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->features[0].kind, PlannedFeature::Kind::kLeftOut);
  EXPECT_EQ(plan->features[0].comment, "counts the examples");
  EXPECT_EQ(plan->features[1].kind, PlannedFeature::Kind::kLeftOut);
  EXPECT_EQ(plan->features[1].comment, "nearly every example has another text (100 in 100)");
  EXPECT_EQ(plan->features[2].kind, PlannedFeature::Kind::kNumber);
}

// A table of times in the column "day", a row each.
std::string RowsAt(const std::vector<std::string>& times) {
  std::string text = "day,v\n";
  for (size_t i = 0; i < times.size(); ++i) absl::StrAppend(&text, times[i], ",", i * i % 7, "\n");
  return text;
}

// Days since 1970-01-01 as a date.
std::string Date(int day) { return FormatValue(day, {.time_format = "%Y-%m-%d"}); }

// 2024-01-01, a Monday.
constexpr int kMonday = 19723;

std::vector<std::string> Dates(int rows, const std::function<int(int row)>& day) {
  std::vector<std::string> dates;
  for (int row = 0; row < rows; ++row) dates.push_back(Date(kMonday + day(row)));
  return dates;
}

TEST_F(InitTest, ASeriesWithTheNewestRowsFirstIsRefused) {
  EXPECT_EQ(
      PlanCsv(RowsAt(Dates(40, [](int row) { return -row; })), {}, "series").status().message(),
      "column \"day\": got \"2023-12-31\" at data:3 after \"2024-01-01\" at data:2, want rows "
      "in the order of time, the oldest first; all rows are the other way round: (head -n 1 "
      "data; tail -n +2 data | awk 1 | tac) >sorted.csv turns them; --ignore=day takes them as "
      "they "
      "come");
}

// Two series, one below the other.
TEST_F(InitTest, ASeriesWhoseTimesFallIsRefused) {
  const std::string text = RowsAt(Dates(40, [](int row) { return row % 20; }));
  EXPECT_EQ(
      PlanCsv(text, {}, "series").status().message(),
      "column \"day\": got \"2024-01-01\" at data:22 after \"2024-01-20\" at data:21, want rows "
      "in the order of time, the oldest first; 1 of 40 rows is earlier than the row before; sort "
      "them: "
      "(head -n 1 data; tail -n +2 data | awk 1 | LC_ALL=C sort -s -t, -k1,1V) >sorted.csv, or "
      "divide several series into a file and a model each; --ignore=day takes them as they come");
  EXPECT_TRUE(PlanCsv(text, {.ignore = {"day"}}, "series").ok());
}

// Another column of times is in order.
TEST_F(InitTest, TheTimesOfASeriesAreThoseThatRise) {
  std::string text = "made,day,v\n";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, Date(kMonday - i % 9), ",", Date(kMonday + i), ",", i * i % 7, "\n");
  }
  const absl::StatusOr<InitPlan> plan = PlanCsv(text, {}, "series");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->warnings, testing::IsEmpty());
}

TEST_F(InitTest, GapsAndRepeatedTimesOfASeriesAreTold) {
  // A row is missing after the 10th, 4 rows after the 20th; the 31st has the time of the 30th.
  const absl::StatusOr<InitPlan> plan = PlanCsv(
      RowsAt(Dates(40, [](int row) { return row + (row >= 10) + 4 * (row >= 20) - (row >= 30); })),
      {}, "series");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(
      plan->warnings,
      testing::ElementsAre(
          "column \"day\": 1 row has the time of the row before, the first at data:32: "
          "\"2024-02-04\"; several series, such as those of several places, need a file and a "
          "model each",
          "column \"day\": 2 gaps between rows 1 day apart, the largest of 5 days, from "
          "\"2024-01-21\" to \"2024-01-26\" at data:22; a window counts rows, whatever their times "
          "are: put the missing rows in"));
}

TEST_F(InitTest, RowsThatAreNeverEquallyFarApart) {
  const absl::StatusOr<InitPlan> plan =
      PlanCsv(RowsAt(Dates(40, [](int row) { return row * row; })), {}, "series");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->warnings,
              testing::ElementsAre(testing::StartsWith(
                  "column \"day\": the rows are not equally far apart: 39 days in the median, at "
                  "most 77 days, from")));
}

TEST_F(InitTest, NumbersThatFallMayBeTimes) {
  std::string text = "year,v\n";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&text, 2020 - i, ",", i * i % 7, "\n");
  const absl::StatusOr<InitPlan> plan = PlanCsv(text, {}, "series");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->warnings,
              testing::ElementsAre("column \"year\" falls from row to row: if it is the time, turn "
                                   "the rows by tac, to have the oldest first"));
}

TimeGaps GapsOf(const std::vector<double>& days) {
  TimeSteps steps;
  for (const double day : days) steps.Add(day, "", "");
  return steps.FindGaps();
}

TEST(TimeStepsTest, MonthsAndYearsHaveNoGaps) {
  // 2024-01-01 and the first days of the months until 2025-03-01; of the years 2020 to 2025.
  EXPECT_EQ(GapsOf({19723, 19754, 19783, 19814, 19844, 19875, 19905, 19936, 19967, 19997, 20028,
                    20058, 20089, 20120, 20148})
                .count,
            0);
  EXPECT_EQ(GapsOf({18262, 18628, 18993, 19358, 19723, 20089}).count, 0);
}

TEST(TimeStepsTest, WeekendsAreNoGapsWhereNoRowIsOfOne) {
  std::vector<double> days;
  for (int day = kMonday; day < kMonday + 70; ++day) {
    if ((day - kMonday) % 7 < 5) days.push_back(day);
  }
  EXPECT_EQ(GapsOf(days).count, 0);
  days.erase(days.begin() + 10);  // a Monday
  const TimeGaps holiday = GapsOf(days);
  EXPECT_EQ(holiday.count, 1);
  EXPECT_EQ(holiday.largest.days, 4);
  EXPECT_TRUE(holiday.skips_weekends);
  // Hours of every day but Saturdays and Sundays.
  std::vector<double> hours;
  for (const double day : days) {
    for (int hour = 0; hour < 24; ++hour) hours.push_back(day + hour / 24.);
  }
  EXPECT_EQ(GapsOf(hours).count, 1);
  days.push_back(kMonday + 75);  // a Saturday: now the weekends are gaps
  EXPECT_EQ(GapsOf(days).count, 10);
  EXPECT_FALSE(GapsOf(days).skips_weekends);
  // Mondays.
  const TimeGaps weeks = GapsOf({kMonday, kMonday + 7, kMonday + 14, kMonday + 28});
  EXPECT_EQ(weeks.count, 1);
  EXPECT_EQ(weeks.usual_days, 7);
}

TEST(TimeStepsTest, ARowWithoutATimeIsNoGap) {
  TimeSteps steps;
  for (int day = 0; day < 20; ++day) {
    steps.Add(day == 7 ? std::nullopt : std::optional<double>(day), "", "");
  }
  EXPECT_EQ(steps.rises(), 17);
  EXPECT_EQ(steps.FindGaps().count, 0);
}

TEST(InspectedColumnTest, ManyMissingValuesAtOnce) {
  InspectedColumn column;
  column.AddMissing([] { return "never"; }, 0);
  column.AddMissing([] { return "first"; }, 1000000000000);
  column.AddMissing([] { return "second"; });
  EXPECT_EQ(column.empty(), 1000000000001);
  EXPECT_EQ(column.first_missing(), "first");
}

TEST_F(InitTest, MoreIdsThanAVocabularyHasAreHashed) {
  const absl::StatusOr<InitPlan> plan = PlanCsv(ManyWords(9000, 3000), {.ids = {"word"}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->features[1].hash_buckets, 1024);
  const auto files = InitFiles(*plan, {.train = {"data"}, .eval = {"data"}});
  EXPECT_THAT(files.at(kInitRunFile),
              testing::HasSubstr("string_to_hash_bucket_fast { feature: \"word\" num_buckets: "
                                 "1024 }"));
  EXPECT_THAT(files.at(kInitModelFile), testing::HasSubstr("one_hot { depth: 1024 }"));
}

// What each of the texts alone is, and all of them.
ColumnFormat FormatOfTexts(const std::vector<std::string>& texts, char delim = ',') {
  FormatCandidates candidates;
  for (const std::string& text : texts) candidates.Add(text);
  return candidates.any() ? candidates.Choose(delim) : ColumnFormat();
}

TEST(FormatCandidatesTest, NumbersOfSeveralCountries) {
  const auto separators = [](const ColumnFormat& format) {
    return absl::StrCat(format.number.thousands, "|", format.number.decimal);
  };
  EXPECT_EQ(separators(FormatOfTexts({"1,234.50", "7"})), ",|.");
  EXPECT_EQ(separators(FormatOfTexts({"1.234,50", "0,5"})), ".|,");
  EXPECT_EQ(separators(FormatOfTexts({"1,5", "2,25"})), "|,");
  EXPECT_EQ(separators(FormatOfTexts({"1 234,5", "12"})), " |,");
  EXPECT_EQ(separators(FormatOfTexts({"1'234.5"})), "'|.");
  EXPECT_EQ(separators(FormatOfTexts({"1,234", "5,678"})), ",|.");
  EXPECT_EQ(separators(FormatOfTexts({"1,234", "5,678"}, ';')), "|,");
  EXPECT_EQ(separators(FormatOfTexts({"1,234", "0,678"})), "|,");
  EXPECT_THAT(FormatOfTexts({"$ 5", "-$6.5", "7 USD"}).number.strip,
              testing::ElementsAre("$", "USD"));
  EXPECT_THAT(FormatOfTexts({"5%"}).number.strip, testing::ElementsAre("%"));
  for (const std::vector<std::string>& texts : std::vector<std::vector<std::string>>{
           {"1,5", "2.5.3"}, {"1,2,3"}, {"$"}, {"a"}, {"1.5", "-2", "1e3"}, {"?", "NA"}}) {
    EXPECT_FALSE(FormatOfTexts(texts).is_given()) << texts[0];
  }
}

TEST(FormatCandidatesTest, WhatWasAssumedIsSaid) {
  EXPECT_EQ(FormatOfTexts({"1,234", "5,678"}).assumption,
            "\",\" in 1,234 is taken for the separator of thousands");
  EXPECT_EQ(FormatOfTexts({"1,234", "5,678"}, ';').assumption,
            "\",\" in 1,234 is taken for the decimal point");
  EXPECT_EQ(FormatOfTexts({"1.234", "12"}).assumption,
            "\".\" in 1.234 is taken for the decimal point");
  EXPECT_EQ(FormatOfTexts({"1.234", "12.5"}).assumption, "");
  EXPECT_EQ(FormatOfTexts({"1,234", "1,234.5"}).assumption, "");
  EXPECT_EQ(FormatOfTexts({"01/02/2024"}).assumption, "the month is taken to come before the day");
  EXPECT_EQ(FormatOfTexts({"01/02/2024", "01/31/2024"}).assumption, "");
  EXPECT_EQ(FormatOfTexts({"01/02/24"}).assumption, "the month is taken to come before the day");
  EXPECT_EQ(FormatOfTexts({"01/02/24 1:00 PM", "31/01/24 2:00 AM"}).assumption, "");
  EXPECT_EQ(FormatOfTexts({"01/02/24", "31/01/24"}).time_format, "%d/%m/%y");
  EXPECT_EQ(FormatOfTexts({"2022-05"}).assumption, "");
}

TEST(FormatCandidatesTest, DatesAndTimes) {
  for (const auto& [text, format, days] : std::vector<std::tuple<std::string, std::string, double>>{
           {"1970-01-03", "%Y-%m-%d", 2},
           {"31.01.1970", "%d.%m.%Y", 30},
           {"1/31/1970", "%m/%d/%Y", 30},
           {"31/01/1970", "%d/%m/%Y", 30},
           {"1970/02/01", "%Y/%m/%d", 31},
           {"1970-01-02 12:00", "%Y-%m-%d %H:%M", 1.5},
           {"1970-01-02T06:00:00", "%Y-%m-%dT%H:%M:%E*S", 1.25},
           {"1970-01-01T06:00:00+06:00", "%Y-%m-%dT%H:%M:%E*S%Ez", 0},
           {"01.01.1970 18:00", "%d.%m.%Y %H:%M", 0.75},
           {"01/31/70", "%m/%d/%y", 30},
           {"31/01/70", "%d/%m/%y", 30},
           {"3.1.70", "%d.%m.%y", 2},
           {"1/1/00", "%m/%d/%y", 10957},
           {"01-31-1970", "%m-%d-%Y", 30},
           {"31-01-1970", "%d-%m-%Y", 30},
           {"05 Jan 1970", "%d %b %Y", 4},
           {"5 January 1970", "%d %b %Y", 4},
           {"05-Jan-1970", "%d-%b-%Y", 4},
           {"5-JAN-70", "%d-%b-%y", 4},
           {"Jan 5, 1970", "%b %d, %Y", 4},
           {"January 5 1970", "%b %d %Y", 4},
           {"Jan 5, 1970 6:00 PM", "%b %d, %Y %I:%M %p", 4.75},
           {"1970-01-02 12:00 AM", "%Y-%m-%d %I:%M %p", 1},
           {"01/02/1970 06:00:00 pm", "%m/%d/%Y %I:%M:%E*S %p", 1.75},
           {"1970-03", "%Y-%m", 59},
           {"Mar 1970", "%b %Y", 59}}) {
    const ColumnFormat found = FormatOfTexts({text});
    EXPECT_EQ(found.time_format, format) << text;
    EXPECT_EQ(FormattedValue(text, found), days) << text;
  }
  EXPECT_EQ(FormatOfTexts({"2024-01-31", "31.01.2024"}).time_format, "");
  EXPECT_EQ(FormatOfTexts({"2024-02-30"}).time_format, "");
  EXPECT_EQ(FormatOfTexts({"555-1-2"}).time_format, "");
  EXPECT_EQ(FormatOfTexts({"10.2.3"}).time_format, "");
  EXPECT_EQ(FormatOfTexts({"1024-05"}).time_format, "");
  EXPECT_EQ(FormatOfTexts({"2022-13"}).time_format, "");
  EXPECT_EQ(FormatOfTexts({"Jan"}).time_format, "");
  EXPECT_EQ(FormatOfTexts({"May 5"}).time_format, "");
}

TEST_F(InitTest, SeveralFilesHaveOneHeader) {
  const std::string rows = "1,a\n2,b\n3,a\n4,b\n7,a\n9,b\n";
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("a"), "x,y\n" + rows).ok());
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("b"), "x,y\n" + rows).ok());
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("c"), rows).ok());
  const absl::StatusOr<InspectedTable> table = InspectCsv({dir_.Path("a"), dir_.Path("b")});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows, 12);
  EXPECT_EQ(table->skip_lines, 1);
  EXPECT_EQ(InspectCsv({dir_.Path("a"), dir_.Path("c")}).status().message(),
            absl::StrCat(dir_.Path("c"),
                         ":1: got \"1,a\", want the columns of the first file's header, \"x,y\""));
  const absl::StatusOr<InspectedTable> without = InspectCsv({dir_.Path("c"), dir_.Path("c")});
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->rows, 12);
  EXPECT_EQ(without->skip_lines, 0);
}

TEST(LegalNameTest, LettersAndDigitsOfATitle) {
  EXPECT_EQ(LegalName("sepal length (cm)"), "sepal_length_cm");
  EXPECT_EQ(LegalName("education-num"), "education-num");
  EXPECT_EQ(LegalName("  \"x\" "), "x");
  EXPECT_EQ(LegalName("h\xc3\xb6he"), "h_he");
  EXPECT_EQ(LegalName("-a-"), "a");
  EXPECT_EQ(LegalName("_"), "");
  EXPECT_EQ(LegalName(""), "");
}

TEST(UniqueNamesTest, NoNameTwice) {
  UniqueNames names;
  EXPECT_EQ(names.Take("x"), "x");
  EXPECT_EQ(names.Take("x"), "x_1");
  EXPECT_EQ(names.Take("x_1"), "x_1_1");
  EXPECT_EQ(names.Take("loss"), "loss_1");
}

}  // namespace
}  // namespace tpurun
