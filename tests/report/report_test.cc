// What a report finds, compares and shows.
#include "runtime/report/report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/report/html_report.h"
#include "runtime/report/text_report.h"
#include "tests/golden.h"
#include "tests/io/temp_dir.h"
#include "tests/report/event_files.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReportTest : public ::testing::Test {
 protected:
  // A training of 100 steps, and an evaluation at 50 and 100.
  void WriteRun(const std::string& name, float rate) {
    TestEvents training(dir_.Path(name));
    training.Start(0);
    for (int step = 10; step <= 100; step += 10) {
      training.Scalar(step, "loss", 100 / (100 + rate * static_cast<float>(step)));
    }
    training.Scalar(100, "examples/sec", 1000 * rate);
    TestEvents evaluation(dir_.Path(name + "/eval"));
    evaluation.Scalar(50, "loss", 0.5f).Scalar(100, "loss", 0.25f);
    std::ofstream(dir_.Path(name + "/run_config.pbtxt"))
        << "model_dir: \"" << name << "\"  # FILE:1\ntrain_batch_size: 64\n"
        << "model { layer { name: \"hidden\" dense { units: " << static_cast<int>(rate * 8)
        << " } } }\nfield_of_tomorrow: 1\n";
  }
  Report Read(const std::vector<std::string>& names) {
    std::vector<std::string> dirs;
    for (const std::string& name : names) dirs.push_back(dir_.Path(name));
    const absl::StatusOr<Report> report = ReadReport(dirs);
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  }
  std::vector<std::string> Names(const Report& report) {
    std::vector<std::string> names;
    for (const ReportRun& run : report.runs) names.push_back(run.folder.name);
    return names;
  }

  const TempDir dir_;
};

TEST_F(ReportTest, RunsAreNamedBelowTheCommonParent) {
  WriteRun("sweep/b", 1);
  WriteRun("sweep/a", 2);
  WriteRun("sweep/a-b", 2);
  EXPECT_THAT(Names(Read({"sweep"})), ElementsAre("a", "a/eval", "a-b", "a-b/eval", "b", "b/eval"));
  EXPECT_THAT(Names(Read({"sweep/b/", "sweep/./a"})), ElementsAre("a", "a/eval", "b", "b/eval"));
  EXPECT_THAT(Names(Read({"sweep/a"})), ElementsAre("a", "eval"));
  EXPECT_THAT(Names(Read({"sweep/a/eval"})), ElementsAre("eval"));
  // Each once.
  EXPECT_THAT(Names(Read({"sweep/a/eval", "sweep/a", "sweep/a"})), ElementsAre("a", "eval"));
}

TEST_F(ReportTest, ALoopOfLinksEnds) {
  WriteRun("a", 1);
  std::filesystem::create_directory_symlink("..", dir_.Path("a/up"));
  EXPECT_THAT(Names(Read({"a"})), ElementsAre("a", "eval"));
}

TEST_F(ReportTest, ADirectoryWithoutEventsIsNotFound) {
  std::filesystem::create_directories(dir_.Path("empty/below"));
  const absl::Status empty = ReadReport({dir_.Path("empty")}).status();
  EXPECT_EQ(ExitCode(empty), 66);
  EXPECT_THAT(std::string(empty.message()),
              HasSubstr("no event file (*tfevents*) in " + dir_.Path("empty") + " or below it; "));
  const absl::Status absent = ReadReport({dir_.Path("absent")}).status();
  EXPECT_EQ(ExitCode(absent), 66);
  EXPECT_THAT(std::string(absent.message()), HasSubstr("/absent: No such file or directory"));
}

TEST_F(ReportTest, TheTableHasWhatDiffers) {
  WriteRun("a", 1);
  WriteRun("b", 2);
  const Report report = Read({""});
  EXPECT_THAT(report.warnings, IsEmpty());
  EXPECT_THAT(report.table.columns, ElementsAre("run", "step", "loss", "eval loss",
                                                "model.layer.hidden.dense.units", "examples/sec"));
  EXPECT_THAT(report.table.rows,
              ElementsAre(ElementsAre("a", "100", "0.5", "0.25", "8", "1000"),
                          ElementsAre("b", "100", "0.333333", "0.25", "16", "2000")));
}

TEST_F(ReportTest, AMetricIsFoundByItsKeyItsHeadingOrItsTag) {
  WriteRun("a", 1);
  TestEvents(dir_.Path("a/eval_train")).Scalar(100, "accuracy", 0.5f);
  const Report report = Read({"a"});
  for (const auto& [name, key] :
       {std::pair("loss", "loss"), std::pair("eval/loss", "eval/loss"),
        std::pair("eval loss", "eval/loss"), std::pair("accuracy", "eval_train/accuracy")}) {
    const absl::StatusOr<size_t> column = FindMetric(report, name);
    ASSERT_TRUE(column.ok()) << column.status();
    EXPECT_EQ(report.columns[*column].key, key);
  }
  EXPECT_THAT(std::string(FindMetric(report, "acuracy").status().message()),
              HasSubstr("want a metric of the runs"));
  EXPECT_FALSE(FindMetric(report, "run").ok());
  TestEvents(dir_.Path("a/eval")).Scalar(100, "accuracy", 0.5f);
  EXPECT_EQ(FindMetric(Read({"a"}), "accuracy").status().message(),
            "got \"accuracy\", which several evaluations have, want one of eval/accuracy, "
            "eval_train/accuracy");
}

TEST_F(ReportTest, ATagOfTheTrainingIsNoMetricOfAnEvaluation) {
  TestEvents(dir_.Path("a"))
      .Scalar(100, "eval/loss", 1)
      .Scalar(100, "eval loss", 2)
      .Scalar(100, "./eval/loss", 3)
      .Scalar(100, "evaluation/loss", 4)
      .Scalar(100, "eval_train/loss", 5);
  TestEvents(dir_.Path("a/eval")).Scalar(100, "loss", 6);
  TestEvents(dir_.Path("a/eval_train")).Scalar(100, "loss", 7);
  const Report report = Read({"a"});
  ASSERT_EQ(report.rows.size(), 1u);
  const std::map<std::string, double> wanted = {
      {"./eval/loss", 1},       {"./eval loss", 2}, {"././eval/loss", 3},  {"evaluation/loss", 4},
      {"./eval_train/loss", 5}, {"eval/loss", 6},   {"eval_train/loss", 7}};
  EXPECT_EQ(report.rows[0].metrics.size(), wanted.size());
  for (const auto& [key, value] : wanted) {
    const absl::StatusOr<size_t> column = FindMetric(report, key);
    ASSERT_TRUE(column.ok()) << column.status();
    EXPECT_EQ(report.columns[*column].key, key);
    EXPECT_EQ(report.table.rows[0][*column], NumberText(value)) << key;
  }
  EXPECT_EQ(report.columns[*FindMetric(report, "eval loss")].key, "eval/loss");
  const std::vector<std::string>& headings = report.table.columns;
  EXPECT_EQ(std::set<std::string>(headings.begin(), headings.end()).size(), headings.size());
}

TEST_F(ReportTest, TheBestRunComesFirstAndRunsWithoutTheMetricLast) {
  WriteRun("a", 1);
  WriteRun("b", 4);
  WriteRun("c", 2);
  TestEvents(dir_.Path("d")).Scalar(100, "other", 1);
  TestEvents(dir_.Path("e")).Scalar(100, "loss", std::numeric_limits<float>::quiet_NaN());
  Report report = Read({""});
  const auto names = [&] {
    std::vector<std::string> rows;
    for (const auto& row : report.table.rows) rows.push_back(row[0]);
    return rows;
  };
  ASSERT_TRUE(SortByMetric(*FindMetric(report, "loss"), std::nullopt, report).ok());
  EXPECT_THAT(names(), ElementsAre("b", "c", "a", "d", "e"));
  EXPECT_EQ(BestRow(report), 0u);
  for (const ReportRun& run : report.runs) {
    EXPECT_EQ(report.table.rows[run.row][0], run.folder.training);
    EXPECT_EQ(report.rows[run.row].run, run.folder.training);
  }
  ASSERT_TRUE(SortByMetric(*FindMetric(report, "loss"), MetricMode::kMax, report).ok());
  EXPECT_THAT(names(), ElementsAre("a", "c", "b", "d", "e"));
  EXPECT_THAT(TextReport(report, 80), HasSubstr("Sorted by loss, the highest first:\n"));
  EXPECT_THAT(TextReport(report, 80), HasSubstr("\n* a"));
  EXPECT_EQ(ExitCode(SortByMetric(*FindMetric(report, "other"), std::nullopt, report)), 2);
}

TEST_F(ReportTest, JsonHasTheLastAndTheBestValues) {
  WriteRun("a", 1);
  WriteRun("b", 4);
  {
    TestEvents evaluation(dir_.Path("b/eval"));
    evaluation.Scalar(50, "accuracy", 0.5f).Scalar(60, "accuracy", 0.75f);
    evaluation.Scalar(70, "accuracy", 0.75f).Scalar(100, "accuracy", 0.25f);
    evaluation.Scalar(100, "odd", std::numeric_limits<float>::infinity());
  }
  Report report = Read({""});
  ASSERT_TRUE(SortByMetric(*FindMetric(report, "loss"), std::nullopt, report).ok());
  const nlohmann::json json = nlohmann::json::parse(JsonReport(report));
  EXPECT_EQ(json["sort_by"], "loss");
  EXPECT_EQ(json["mode"], "MIN");
  EXPECT_EQ(json["best_run"], "b");
  ASSERT_EQ(json["runs"].size(), 2u);
  const nlohmann::json& b = json["runs"][0];
  EXPECT_EQ(b["run"], "b");
  EXPECT_EQ(b["model_dir"], report.runs[2].folder.path);
  EXPECT_EQ(b["step"], 100);
  EXPECT_EQ(b["metrics"]["eval/accuracy"], 0.25);
  EXPECT_EQ(b["metrics"]["eval/odd"], "Infinity");
  EXPECT_EQ(b["best"]["eval/accuracy"], nlohmann::json::parse(R"({"value": 0.75, "step": 60})"));
  EXPECT_FALSE(b["best"].contains("eval/odd"));
  EXPECT_EQ(b["hyperparameters"],
            nlohmann::json::parse(R"({"model.layer.hidden.dense.units": 32})"));
  EXPECT_THAT(json["warnings"], IsEmpty());
  const nlohmann::json plain = nlohmann::json::parse(JsonReport(Read({"a"})));
  for (const char* key : {"sort_by", "mode", "best_run"}) EXPECT_TRUE(plain[key].is_null());
}

TEST_F(ReportTest, JsonHasNumbersAsTheyAreWritten) {
  WriteRun("a", 1);
  Report report = Read({""});
  report.rows[0].hyperparameters = {
      {"large", "1e400"}, {"on", "true"}, {"rate", "0.1"}, {"sign", "+5"}, {"zip", "007"}};
  EXPECT_EQ(nlohmann::json::parse(JsonReport(report))["runs"][0]["hyperparameters"],
            nlohmann::json::parse(
                R"({"large": "1e400", "on": true, "rate": 0.1, "sign": "+5", "zip": "007"})"));
}

// As train_and_evaluate leaves it. The last evaluations, at 100, are all alike.
TEST_F(ReportTest, ARunCountsByItsBestCheckpoint) {
  for (const char* name : {"a", "b", "c"}) WriteRun(name, 1);
  TestEvents(dir_.Path("b/eval")).Scalar(60, "loss", 0.125f).Scalar(60, "accuracy", 0.75f);
  TestEvents(dir_.Path("b/eval")).Scalar(100, "accuracy", 1).Scalar(100, "loss", 0.25f);
  std::ofstream(dir_.Path("b/best_checkpoint.pbtxt")) << "best: 0.125 best_step: 60\n";
  // A longer history without a best checkpoint, and a damaged file.
  TestEvents(dir_.Path("a/eval")).Scalar(60, "loss", 0.0625f).Scalar(100, "loss", 0.25f);
  std::ofstream(dir_.Path("c/best_checkpoint.pbtxt")) << "best_step: x\n";
  Report report = Read({""});
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_THAT(report.warnings[0], HasSubstr("c/best_checkpoint.pbtxt:1:12: "));
  EXPECT_THAT(report.warnings[0], HasSubstr("the last values of this run are shown"));
  EXPECT_THAT(report.table.columns, ElementsAre("run", "step", "best_step", "eval accuracy", "loss",
                                                "eval loss", "examples/sec"));
  ASSERT_TRUE(SortByMetric(*FindMetric(report, "eval/loss"), std::nullopt, report).ok());
  EXPECT_THAT(report.table.rows,
              ElementsAre(ElementsAre("b", "100", "60", "0.75", "0.5", "0.125", "1000"),
                          ElementsAre("a", "100", "", "", "0.5", "0.25", "1000"),
                          ElementsAre("c", "100", "", "", "0.5", "0.25", "1000")));
  const nlohmann::json json = nlohmann::json::parse(JsonReport(report));
  EXPECT_EQ(json["best_run"], "b");
  EXPECT_EQ(json["runs"][0]["best_step"], 60);
  EXPECT_EQ(json["runs"][0]["metrics"]["eval/loss"], 0.125);
  EXPECT_EQ(json["runs"][0]["best"]["eval/accuracy"]["value"], 1);
  EXPECT_TRUE(json["runs"][1]["best_step"].is_null());
}

TEST_F(ReportTest, ADamagedConfigurationIsAWarning) {
  WriteRun("a", 1);
  std::ofstream(dir_.Path("a/run_config.pbtxt")) << "model_dir: \"a\"\ntrain_batch_size: x\n";
  const Report report = Read({"a"});
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_THAT(report.warnings[0], HasSubstr("a/run_config.pbtxt: line 2: "));
}

TEST_F(ReportTest, TextIsGolden) {
  WriteRun("a", 1);
  WriteRun("b", 4);
  ExpectGolden("testdata/report/two_runs.txt", TextReport(Read({""}), 72));
}

TEST_F(ReportTest, TextIsAsWideAsAsked) {
  WriteRun("a_name_that_is_long", 1);
  for (const int width : {kMinTextWidth, 80, 200}) {
    const std::string text = TextReport(Read({""}), width);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto columns =
          std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(columns, width) << line;
    }
  }
}

TEST_F(ReportTest, TextOfValuesThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float huge = std::numeric_limits<float>::max();
  {
    TestEvents events(dir_.Path("a"));
    events.Scalar(1, "all", nan).Scalar(1, "some", nan).Scalar(2, "some", 3);
    events.Scalar(1, "wide", huge).Scalar(2, "wide", -huge);
  }
  const std::string text = TextReport(Read({"a"}), 80);
  EXPECT_THAT(text, HasSubstr("all\n  (no finite value)\n"));
  EXPECT_THAT(text, HasSubstr("3.403e+38 |"));
}

// The page's data, from between its marks.
nlohmann::json PageData(const std::string& html) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t from = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST_F(ReportTest, ThePageHoldsTheCurves) {
  WriteRun("a", 1);
  const HtmlReport page = MakeHtmlReport(Read({"a"}));
  EXPECT_EQ(page.points, 13u);
  EXPECT_EQ(page.points_kept, 13u);
  const nlohmann::json data = PageData(page.html);
  EXPECT_THAT(data["notes"], IsEmpty());
  EXPECT_EQ(data["runs"][1],
            nlohmann::json::parse(R"({"name": "eval", "row": 0, "evaluation": "eval"})"));
  EXPECT_EQ(data["curves"][2], nlohmann::json::parse(R"({
      "tag": "loss", "run": 1, "steps": [50, 50], "times": [1700000050000, 50000],
      "values": [0.5, 0.25]})"));
  EXPECT_EQ(data["curves"][1]["values"][0].dump(), "0.90909094");  // a float's digits
  EXPECT_THAT(page.html, Not(HasSubstr("{{")));
}

TEST_F(ReportTest, ThePageTakesStepsOfAnySize) {
  {
    TestEvents events(dir_.Path("a"));
    events.Scalar(std::numeric_limits<int64_t>::min(), "loss", 1);
    events.Scalar(std::numeric_limits<int64_t>::max(), "loss", 1);
  }
  const nlohmann::json data = PageData(MakeHtmlReport(Read({"a"})).html);
  EXPECT_EQ(data["curves"][0]["steps"].dump(), "[-9007199254740992,18014398509481984]");
  EXPECT_THAT(TextReport(Read({"a"}), 80), HasSubstr("loss\n"));
}

TEST_F(ReportTest, NamesAndTextsCannotEndTheScript) {
  const std::string evil = "</script><script>alert(1)</script>{{data}}";
  {
    TestEvents events(dir_.Path("a"));
    events.Scalar(1, evil, std::numeric_limits<float>::infinity());
    tensorflow::TensorProto text;
    text.set_dtype(tensorflow::DT_STRING);
    text.add_string_val(evil + "\xff");
    events.Tensor(1, "text", "text", text);
  }
  const std::string html = MakeHtmlReport(Read({"a"})).html;
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  const nlohmann::json data = PageData(html);
  EXPECT_EQ(data["curves"][0]["values"][0], "Infinity");
  EXPECT_EQ(data["texts"][0]["markdown"], evil + "\xef\xbf\xbd");
}

TEST_F(ReportTest, WhatIsTooLargeIsLeftOutAndThePageSaysSo) {
  {
    TestEvents events(dir_.Path("a"));
    for (const auto& [tag, size] :
         {std::pair("huge", kPageTextBytes + 1), std::pair("small", size_t{5})}) {
      tensorflow::TensorProto text;
      text.set_dtype(tensorflow::DT_STRING);
      text.add_string_val(std::string(size, 'x'));
      events.Tensor(1, tag, "text", text);
    }
  }
  const nlohmann::json data = PageData(MakeHtmlReport(Read({"a"})).html);
  EXPECT_THAT(data["notes"], ElementsAre("Left out for their size: 1 texts"));
  EXPECT_EQ(data["texts"].size(), 1u);
  EXPECT_EQ(data["texts"][0]["tag"], "small");
}

TEST_F(ReportTest, LongCurvesAreReducedAndThePageSaysSo) {
  {
    TestEvents events(dir_.Path("a"));
    for (int step = 0; step < 3 * static_cast<int>(kCurvePoints); ++step) {
      events.Scalar(step, "loss", step == 1234 ? 50.0f : 1.0f);
    }
  }
  const HtmlReport page = MakeHtmlReport(Read({"a"}));
  EXPECT_EQ(page.points, 3 * kCurvePoints);
  EXPECT_LE(page.points_kept, kCurvePoints);
  const nlohmann::json data = PageData(page.html);
  EXPECT_THAT(data["notes"][0].get<std::string>(), HasSubstr("of 6000 points"));
  EXPECT_THAT(data["curves"][0]["values"], testing::Contains(50.0));
}

TEST_F(ReportTest, ForecastsAreInThePageAndTheTextIfTheyAreAskedFor) {
  WriteRun("a", 1);
  WriteRun("b", 2);
  Report report = Read({"a", "b"});
  EXPECT_FALSE(PageData(MakeHtmlReport(report).html).contains("forecasts"));
  const std::string plain = TextReport(report, 80);
  const std::string evil = "<script>alert('x')</script>\x1b[31m";
  report.forecasts_title = "On a Cloud TPU v3-8";
  report.forecasts = {.columns = {"run", "ms a step"}, .rows = {{evil, "0.5"}}};
  report.runs[0].forecast = ReportForecast{.verdict = {"fits: yes"},
                                           .tables = {{evil, {{"layer", "ms"}, {{evil, "1.5"}}}}},
                                           .advice = {"a larger batch"}};
  report.runs[2].forecast = ReportForecast{.error = "model.textproto:3: " + evil + "\nand more"};
  const std::string html = MakeHtmlReport(report).html;
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  const nlohmann::json forecasts = PageData(html)["forecasts"];
  EXPECT_EQ(forecasts["title"], "On a Cloud TPU v3-8");
  EXPECT_EQ(forecasts["table"]["rows"][0][0], evil);
  ASSERT_EQ(forecasts["runs"].size(), 2u);
  EXPECT_EQ(forecasts["runs"][0]["run"], 0);
  EXPECT_EQ(forecasts["runs"][0]["tables"][0]["title"], evil);
  EXPECT_EQ(forecasts["runs"][0]["tables"][0]["rows"][0][1], "1.5");
  EXPECT_EQ(forecasts["runs"][1]["run"], 2);
  EXPECT_EQ(TextReport(report, 80), plain +
                                        "\nOn a Cloud TPU v3-8\n"
                                        "run                                  ms a step\n"
                                        "<script>alert('x')</script>\\033[31m        0.5\n"
                                        "b: no forecast:\n"
                                        "  model.textproto:3: "
                                        "<script>alert('x')</script>\\033[31m\n"
                                        "  and more\n");
}

}  // namespace
}  // namespace tpurun
