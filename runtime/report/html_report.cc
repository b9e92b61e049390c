// The page's data is one JSON object, which report.js reads:
//
//   {"title": "runs",
//    "notes": ["what was left out, and why"],
//    "runs": [{"name": "a/eval", "row": 0, "evaluation": "eval"}],
//    "table": {"columns": ["run", "step", "loss"], "rows": [["a", "100", "0.25"]],
//              "kinds": ["run", "step", "metric"], "modes": ["", "", "MIN"],
//              "order": {"column": 2, "mode": "MIN"}},
//    "models": [{"title": "iris", "runs": [0], "columns": ["name"], "rows": [["hidden"]],
//                "totals": ["Total parameters: 10"]}],
//    "curves": [{"tag": "loss", "run": 0, "steps": [10, 10], "times": [1700000000000, 500],
//                "values": [0.5, "NaN"]}],
//    "images": [{"tag": "x", "run": 0, "step": 10, "uri": "data:image/png;base64,..."}],
//    "texts": [{"tag": "x", "run": 0, "step": 10, "markdown": "..."}],
//    "profiles": [{"run": 0, "text": "10 steps of 1.5 ms",
//                  "tables": [{"columns": ["layer", "share %"], "rows": [["dense", "50.0"]]}]}],
//    "histograms": [{"tag": "x", "run": 0, "step": 10, "edges": [0, 1], "counts": [5]}],
//    "forecasts": {"title": "On a Cloud TPU v3-8", "table": {"columns": ["run"], "rows": [["a"]]},
//                  "runs": [{"run": 0, "error": "", "verdict": ["fits: yes"], "advice": ["..."],
//                            "tables": [{"title": "...", "columns": ["layer"], "rows": []}]}]}}
//
// "forecasts" is there if they are asked for, "order" if the table is sorted. The kind of a column
// of a configuration is "hyperparameter"; modes are "" where the name of a metric does not tell.
// Steps and times (milliseconds since 1970) are the first and then differences.
#include "runtime/report/html_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "runtime/base/text.h"
#include "runtime/profile/layer_times.h"
#include "runtime/profile/time_unit.h"
#include "runtime/report/json_number.h"
#include "runtime/report/page.h"
#include "runtime/report/sample.h"

namespace tpurun {
namespace {

using Json = nlohmann::ordered_json;

Json Numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(JsonNumberOf(value));
  return list;
}

// A list as its first element and then differences, of numbers that JavaScript has exactly.
class DeltaList {
 public:
  void Add(int64_t value) {
    constexpr int64_t kMost = int64_t{1} << 53;
    value = std::clamp(value, -kMost, kMost);
    list_.push_back(value - std::exchange(last_, value));
  }
  Json Take() { return std::move(list_); }

 private:
  Json list_ = Json::array();
  int64_t last_ = 0;
};

int64_t Milliseconds(double wall_time) {
  // A time that is no time must not overflow.
  return std::isfinite(wall_time) ? std::llround(std::clamp(wall_time, -1e12, 1e12) * 1000) : 0;
}

Json Curve(const std::string& tag, size_t run, const std::vector<ScalarPoint>& points,
           const std::vector<size_t>& kept) {
  DeltaList steps;
  DeltaList times;
  Json values = Json::array();
  for (const size_t i : kept) {
    steps.Add(points[i].step);
    times.Add(Milliseconds(points[i].wall_time));
    values.push_back(JsonNumberOf(points[i].value));
  }
  return {{"tag", tag},
          {"run", run},
          {"steps", steps.Take()},
          {"times", times.Take()},
          {"values", std::move(values)}};
}

Json Curves(const Report& report, HtmlReport* page) {
  const auto runs_by_tag = RunsByScalar(report);
  std::vector<size_t> sizes;
  for (const ReportRun& run : report.runs) {
    for (const auto& [tag, points] : run.events.scalars) {
      sizes.push_back(std::min(points.size(), kCurvePoints));
    }
  }
  const size_t limit = PointsPerCurve(std::move(sizes), kPagePoints);
  Json curves = Json::array();
  for (const auto& [tag, runs] : runs_by_tag) {
    for (const size_t run : runs) {
      const std::vector<ScalarPoint>& points = report.runs[run].events.scalars.at(tag);
      const std::vector<size_t> kept = SamplePoints(points, limit);
      page->points += points.size();
      page->points_kept += kept.size();
      curves.push_back(Curve(tag, run, points, kept));
    }
  }
  return curves;
}

// Entries of one kind, tag by tag: `make` gives the entry of a summary, `size` its bytes. What does
// not fit into `budget` is left out and counted.
template <typename Summary, typename Make, typename Size>
Json Entries(const Report& report, std::map<std::string, Summary> RunEvents::*member, Make make,
             Size size, size_t budget, size_t* left_out) {
  std::map<std::string, std::vector<size_t>> runs_by_tag;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    for (const auto& entry : report.runs[run].events.*member) {
      runs_by_tag[entry.first].push_back(run);
    }
  }
  Json list = Json::array();
  for (const auto& [tag, runs] : runs_by_tag) {
    for (const size_t run : runs) {
      const Summary& summary = (report.runs[run].events.*member).at(tag);
      if (size(summary) > budget) {
        ++*left_out;
        continue;
      }
      budget -= size(summary);
      Json entry = {{"tag", tag}, {"run", run}, {"step", summary.step}};
      entry.update(make(summary));
      list.push_back(std::move(entry));
    }
  }
  return list;
}

Json Runs(const Report& report) {
  Json runs = Json::array();
  for (const ReportRun& run : report.runs) {
    runs.push_back(
        {{"name", run.folder.name}, {"row", run.row}, {"evaluation", run.folder.evaluation}});
  }
  return runs;
}

// Summaries that did not fit, by kind.
struct LeftOut {
  size_t images = 0;
  size_t texts = 0;
  size_t histograms = 0;
};

Json Images(const Report& report, LeftOut* left_out) {
  const auto make = [](const ImageSummary& image) -> Json {
    return {{"uri",
             absl::StrCat("data:", image.media_type, ";base64,", absl::Base64Escape(image.bytes))}};
  };
  const auto size = [](const ImageSummary& image) { return image.bytes.size(); };
  return Entries(report, &RunEvents::images, make, size, kPageImageBytes, &left_out->images);
}

Json Texts(const Report& report, LeftOut* left_out) {
  const auto make = [](const TextSummary& text) -> Json { return {{"markdown", text.markdown}}; };
  const auto size = [](const TextSummary& text) { return text.markdown.size(); };
  return Entries(report, &RunEvents::texts, make, size, kPageTextBytes, &left_out->texts);
}

Json Histograms(const Report& report, LeftOut* left_out) {
  const auto make = [](const HistogramSummary& histogram) -> Json {
    return {{"edges", Numbers(histogram.edges)}, {"counts", Numbers(histogram.counts)}};
  };
  // Two numbers a bucket.
  const auto size = [](const HistogramSummary& histogram) { return 16 * histogram.edges.size(); };
  return Entries(report, &RunEvents::histograms, make, size, kPageTextBytes, &left_out->histograms);
}

Json Notes(const Report& report, const HtmlReport& page, const LeftOut& left_out) {
  Json notes = report.warnings;
  if (page.points_kept < page.points) {
    notes.push_back(absl::StrCat("Curves show ", page.points_kept, " of ", page.points,
                                 " points: the first, the last, and the least and the greatest of "
                                 "each stretch between."));
  }
  for (const auto& [count, what] :
       {std::pair(left_out.images, "images"), std::pair(left_out.texts, "texts"),
        std::pair(left_out.histograms, "histograms")}) {
    if (count > 0) notes.push_back(absl::StrCat("Left out for their size: ", count, " ", what));
  }
  return notes;
}

std::string ProfilePercent(double share) { return absl::StrFormat("%.1f", share * 100); }

Json LayerTable(const proto::Profile& profile, const TimeUnit& unit) {
  Json rows = Json::array();
  for (const LayerTimes& times : TimesByLayer(profile)) {
    rows.push_back({times.layer, unit.Text(times.forward), unit.Text(times.backward),
                    unit.Text(times.update), unit.Text(times.other), ProfilePercent(times.share)});
  }
  return {{"columns", {"layer", "forward", "backward", "update", "other", "share %"}},
          {"rows", std::move(rows)}};
}

// The instructions that take most time.
Json InstructionTable(const proto::Profile& profile, const TimeUnit& unit) {
  constexpr int kMostInstructions = 20;
  Json rows = Json::array();
  for (int i = 0; i < std::min(kMostInstructions, profile.instruction_size()); ++i) {
    const proto::ProfileRow& row = profile.instruction(i);
    rows.push_back({row.name(), absl::StrJoin(row.from(), ", "), row.kernel(),
                    unit.Text(row.seconds()), ProfilePercent(row.share()),
                    absl::StrFormat("%.1f", row.gflops_per_second()),
                    absl::StrFormat("%.1f", row.gbytes_per_second())});
  }
  return {{"columns", {"instruction", "from", "kernel", unit.symbol, "share %", "GFLOP/s", "GB/s"}},
          {"rows", std::move(rows)}};
}

Json Profiles(const Report& report) {
  Json profiles = Json::array();
  for (size_t run = 0; run < report.runs.size(); ++run) {
    if (!report.runs[run].profile.has_value()) continue;
    const proto::Profile& profile = *report.runs[run].profile;
    const TimeUnit unit = TimeUnitOf(profile);
    profiles.push_back(
        {{"run", run},
         {"text",
          absl::StrFormat("%d steps of %s %s, %.1f examples/s, %d workers. Times are "
                          "%s of all workers in a step.",
                          profile.steps(), unit.Text(profile.step_seconds()), unit.symbol,
                          profile.examples_per_second(), profile.num_workers(), unit.plural)},
         {"tables", {LayerTable(profile, unit), InstructionTable(profile, unit)}}});
  }
  return profiles;
}

Json TableJson(const ReportTable& table) {
  return {{"columns", table.columns}, {"rows", table.rows}};
}

const char* KindText(ReportColumn::Kind kind) {
  switch (kind) {
    case ReportColumn::Kind::kRun:
      return "run";
    case ReportColumn::Kind::kStep:
      return "step";
    case ReportColumn::Kind::kBestStep:
      return "best_step";
    case ReportColumn::Kind::kMetric:
      return "metric";
    case ReportColumn::Kind::kHyperparameter:
      return "hyperparameter";
  }
  return "";
}

Json ResultsJson(const Report& report) {
  Json table = TableJson(report.table);
  table["kinds"] = Json::array();
  table["modes"] = Json::array();
  for (const ReportColumn& column : report.columns) {
    table["kinds"].push_back(KindText(column.kind));
    table["modes"].push_back(column.mode.has_value() ? ModeText(*column.mode) : "");
  }
  if (report.order.has_value()) {
    table["order"] = {{"column", report.order->column}, {"mode", ModeText(report.order->mode)}};
  }
  return table;
}

Json Models(const Report& report) {
  Json models = Json::array();
  for (const ReportModel& model : report.models) {
    models.push_back({{"title", model.title},
                      {"runs", model.rows},
                      {"columns", model.table.columns},
                      {"rows", model.table.rows},
                      {"totals", model.totals}});
  }
  return models;
}

Json Forecasts(const Report& report) {
  Json runs = Json::array();
  for (size_t run = 0; run < report.runs.size(); ++run) {
    if (!report.runs[run].forecast.has_value()) continue;
    const ReportForecast& forecast = *report.runs[run].forecast;
    Json tables = Json::array();
    for (const ReportForecast::Table& table : forecast.tables) {
      Json entry = {{"title", table.title}};
      entry.update(TableJson(table.table));
      tables.push_back(std::move(entry));
    }
    runs.push_back({{"run", run},
                    {"error", forecast.error},
                    {"verdict", forecast.verdict},
                    {"advice", forecast.advice},
                    {"tables", std::move(tables)}});
  }
  return {{"title", report.forecasts_title},
          {"table", TableJson(report.forecasts)},
          {"runs", std::move(runs)}};
}

// Counts the curves' points into *page.
Json Data(const Report& report, HtmlReport* page) {
  LeftOut left_out;
  Json curves = Curves(report, page);
  Json images = Images(report, &left_out);
  Json texts = Texts(report, &left_out);
  Json histograms = Histograms(report, &left_out);
  Json data = {{"title", report.title},        {"notes", Notes(report, *page, left_out)},
               {"runs", Runs(report)},         {"table", ResultsJson(report)},
               {"curves", std::move(curves)},  {"images", std::move(images)},
               {"texts", std::move(texts)},    {"histograms", std::move(histograms)},
               {"profiles", Profiles(report)}, {"models", Models(report)}};
  if (!report.forecasts_title.empty()) data["forecasts"] = Forecasts(report);
  return data;
}

// JSON that may stand inside <script>: a '<' occurs only in strings. What is not UTF-8 in names of
// files and tags is replaced.
std::string ScriptText(const Json& data) {
  return absl::StrReplaceAll(data.dump(-1, ' ', false, Json::error_handler_t::replace),
                             {{"<", "\\u003c"}});
}

}  // namespace

HtmlReport MakeHtmlReport(const Report& report) {
  HtmlReport page;
  const std::string data = ScriptText(Data(report, &page));
  page.html = absl::StrReplaceAll(
      kPageHtml, {{"{{style}}", kPageStyle}, {"{{script}}", kPageScript}, {"{{data}}", data}});
  return page;
}

}  // namespace tpurun
