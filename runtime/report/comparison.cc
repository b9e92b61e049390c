#include "runtime/report/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/report/json_number.h"
#include "runtime/report/report.h"

namespace tpurun {
namespace {

using ComparisonJson = nlohmann::ordered_json;

// True if a is better than b; nothing is worse than no number.
bool IsBetter(std::optional<double> a, std::optional<double> b, MetricMode mode) {
  const auto is_number = [](std::optional<double> value) {
    return value.has_value() && !std::isnan(*value);
  };
  if (!is_number(a) || !is_number(b)) return is_number(a) && !is_number(b);
  return mode == MetricMode::kMax ? *a > *b : *a < *b;
}

std::optional<double> ValueOf(const ReportRow& row, const std::string& key) {
  const auto found = row.metrics.find(key);
  return found == row.metrics.end() ? std::nullopt : std::optional(found->second.value);
}

// A number or truth value as such, so that other programs can compare it.
ComparisonJson HyperparameterJson(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  // "007" and "+5" are texts, and 1e400 is no number of JSON.
  const ComparisonJson parsed = ComparisonJson::parse(text, nullptr, false);
  return parsed.is_number() ? parsed : ComparisonJson(text);
}

ComparisonJson RowJson(const ReportRow& row) {
  ComparisonJson metrics = ComparisonJson::object();
  ComparisonJson best = ComparisonJson::object();
  for (const auto& [key, metric] : row.metrics) {
    metrics[key] = JsonNumberOf(metric.value);
    if (!metric.best.has_value()) continue;
    best[key] = {{"value", JsonNumberOf(*metric.best)}, {"step", metric.best_step}};
  }
  ComparisonJson hyperparameters = ComparisonJson::object();
  for (const auto& [name, value] : row.hyperparameters) {
    hyperparameters[name] = HyperparameterJson(value);
  }
  return {
      {"run", row.run},
      {"model_dir", row.model_dir},
      {"step", row.step},
      {"best_step", row.best_step.has_value() ? ComparisonJson(*row.best_step) : ComparisonJson()},
      {"metrics", std::move(metrics)},
      {"best", std::move(best)},
      {"hyperparameters", std::move(hyperparameters)}};
}

}  // namespace

absl::StatusOr<size_t> FindMetric(const Report& report, const std::string& name) {
  std::vector<size_t> by_tag;
  std::vector<std::string> known;
  for (size_t i = 0; i < report.columns.size(); ++i) {
    const ReportColumn& column = report.columns[i];
    if (column.kind != ReportColumn::Kind::kMetric) continue;
    if (column.key == name || report.table.columns[i] == name) return i;
    if (absl::EndsWith(column.key, "/" + name)) by_tag.push_back(i);
    known.push_back(column.key);
  }
  if (by_tag.size() == 1) return by_tag.front();
  if (by_tag.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", Quote(name), ", which several evaluations have, want one of ",
                     absl::StrJoin(by_tag, ", ", [&](std::string* out, size_t i) {
                       absl::StrAppend(out, report.columns[i].key);
                     })));
  }
  if (known.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", Quote(name), ", but the runs have no metric"));
  }
  const std::string near = NearestName(name, known);
  return absl::InvalidArgumentError(
      absl::StrCat("got ", Quote(name), ", want a metric of the runs",
                   near.empty() ? "" : absl::StrCat(", did you mean ", Quote(near), "?"), ": ",
                   absl::StrJoin(known, ", ")));
}

absl::Status SortByMetric(size_t column, std::optional<MetricMode> mode, Report& report) {
  const std::string& key = report.columns[column].key;
  if (!mode.has_value()) mode = report.columns[column].mode;
  if (!mode.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of the metric ", Quote(key),
                     " does not tell whether lower or higher values are better, want --mode=MIN "
                     "or --mode=MAX"));
  }
  std::vector<size_t> order(report.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return IsBetter(ValueOf(report.rows[a], key), ValueOf(report.rows[b], key), *mode);
  });
  std::vector<ReportRow> rows;
  std::vector<std::vector<std::string>> cells;
  std::vector<size_t> place(order.size());  // by the row before
  for (size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    rows.push_back(std::move(report.rows[order[i]]));
    cells.push_back(std::move(report.table.rows[order[i]]));
  }
  report.rows = std::move(rows);
  report.table.rows = std::move(cells);
  for (ReportRun& run : report.runs) run.row = place[run.row];
  report.order = {.column = column, .mode = *mode};
  return absl::OkStatus();
}

std::optional<size_t> BestRow(const Report& report) {
  if (!report.order.has_value() || report.rows.empty()) return std::nullopt;
  const std::optional<double> best =
      ValueOf(report.rows.front(), report.columns[report.order->column].key);
  return best.has_value() && !std::isnan(*best) ? std::optional<size_t>(0) : std::nullopt;
}

std::string JsonReport(const Report& report) {
  ComparisonJson runs = ComparisonJson::array();
  for (const ReportRow& row : report.rows) runs.push_back(RowJson(row));
  ComparisonJson json = {
      {"runs", std::move(runs)}, {"sort_by", nullptr}, {"mode", nullptr}, {"best_run", nullptr}};
  if (report.order.has_value()) {
    json["sort_by"] = report.columns[report.order->column].key;
    json["mode"] = ModeText(report.order->mode);
    if (BestRow(report).has_value()) json["best_run"] = report.rows.front().run;
  }
  json["warnings"] = report.warnings;
  return json.dump(-1, ' ', false, ComparisonJson::error_handler_t::replace);
}

}  // namespace tpurun
