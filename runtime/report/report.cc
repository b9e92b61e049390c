#include "runtime/report/report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/best_checkpoint.h"
#include "runtime/io/file.h"
#include "runtime/profile/profile_files.h"
#include "runtime/report/configuration.h"

namespace tpurun {
namespace {

using Configuration = std::map<std::string, std::string>;

// A rate is no result: its column is the last, after the configuration.
bool IsRate(const std::string& tag) { return absl::EndsWith(tag, "/sec"); }

// True for a tag that reads like a metric of an evaluation, as "eval/loss", or of a training, as
// "./eval/loss".
bool ReadsLikeKey(const std::string& tag) {
  const size_t end = tag.find_first_of("/ ");
  if (end == std::string::npos) return false;
  const std::string folder = tag.substr(0, end);
  return folder == "." || IsEvaluationFolder(folder);
}

// The name of a metric of a run in a report: "loss" of a training; with the separator "/"
// "eval/loss" and "eval_NAME/loss" of its evaluations. A tag "eval/loss" of the training itself is
// "./eval/loss".
std::string MetricName(const RunFolder& folder, const char* separator, const std::string& tag) {
  if (!folder.evaluation.empty()) return absl::StrCat(folder.evaluation, separator, tag);
  return ReadsLikeKey(tag) ? absl::StrCat("./", tag) : tag;
}

std::string MetricColumn(const RunFolder& folder, const std::string& tag) {
  return MetricName(folder, " ", tag);
}

std::string MetricKey(const RunFolder& folder, const std::string& tag) {
  return MetricName(folder, "/", tag);
}

struct MetricHeading {
  std::string name;
  ReportColumn column;
};

// Training and evaluations of one metric stand side by side.
std::vector<MetricHeading> MetricHeadings(const Report& report) {
  std::vector<MetricHeading> headings;
  for (const auto& [tag, runs] : RunsByScalar(report)) {
    std::map<std::string, MetricHeading> by_evaluation;
    for (const size_t run : runs) {
      const RunFolder& folder = report.runs[run].folder;
      by_evaluation[folder.evaluation] = {MetricColumn(folder, tag),
                                          {.key = MetricKey(folder, tag), .mode = ModeOfTag(tag)}};
    }
    for (const auto& [evaluation, heading] : by_evaluation) headings.push_back(heading);
  }
  return headings;
}

// The last global step that one of them logged a scalar of.
int64_t LastStep(const std::vector<const ReportRun*>& runs) {
  int64_t step = 0;
  for (const ReportRun* run : runs) {
    for (const auto& [tag, points] : run->events.scalars) step = std::max(step, points.back().step);
  }
  return step;
}

// run_config.pbtxt of the training, or else the hyperparameters that its events name.
Configuration RowConfiguration(const std::vector<const ReportRun*>& runs,
                               std::vector<std::string>* warnings) {
  absl::StatusOr<Configuration> configuration = ReadConfiguration(ModelDirOf(runs.front()->folder));
  if (!configuration.ok()) {
    warnings->push_back(absl::StrCat(configuration.status().message(),
                                     "; the configuration of this run is not shown"));
  } else if (!configuration->empty()) {
    return *std::move(configuration);
  }
  Configuration hparams;
  for (const ReportRun* run : runs) {
    hparams.insert(run->events.hparams.begin(), run->events.hparams.end());
  }
  return hparams;
}

std::string CellOf(const ReportRow& row, const ReportColumn& column) {
  switch (column.kind) {
    case ReportColumn::Kind::kRun:
      return row.run;
    case ReportColumn::Kind::kStep:
      return absl::StrCat(row.step);
    case ReportColumn::Kind::kBestStep:
      return row.best_step.has_value() ? absl::StrCat(*row.best_step) : "";
    case ReportColumn::Kind::kMetric: {
      const auto metric = row.metrics.find(column.key);
      return metric == row.metrics.end() ? "" : NumberText(metric->second.value);
    }
    case ReportColumn::Kind::kHyperparameter: {
      const auto value = row.hyperparameters.find(column.key);
      return value == row.hyperparameters.end() ? "" : value->second;
    }
  }
  return "";
}

// The value at `step`, or without a point of that step the last one, and with a mode the first of
// the best values.
ReportMetric MetricOf(const std::vector<ScalarPoint>& points, std::optional<MetricMode> mode,
                      std::optional<int64_t> step) {
  ReportMetric metric = {.value = points.back().value};
  for (const ScalarPoint& point : points) {
    if (point.step == step) metric.value = point.value;
    if (!mode.has_value() || std::isnan(point.value)) continue;
    const bool better =
        !metric.best.has_value() ||
        (*mode == MetricMode::kMax ? point.value > *metric.best : point.value < *metric.best);
    if (!better) continue;
    metric.best = point.value;
    metric.best_step = point.step;
  }
  return metric;
}

// The step of the best checkpoint that train_and_evaluate has found in a model_dir.
std::optional<int64_t> BestStep(const std::string& model_dir, std::vector<std::string>* warnings) {
  const absl::StatusOr<std::optional<proto::EvaluationState>> best = ReadBestCheckpoint(model_dir);
  if (best.ok()) return best->has_value() ? std::optional((*best)->best_step()) : std::nullopt;
  warnings->push_back(
      absl::StrCat(best.status().message(), "; the last values of this run are shown"));
  return std::nullopt;
}

ReportRow RowOf(const std::vector<const ReportRun*>& runs, std::vector<std::string>* warnings) {
  ReportRow row = {.run = runs.front()->folder.training,
                   .model_dir = ModelDirOf(runs.front()->folder),
                   .step = LastStep(runs)};
  row.best_step = BestStep(row.model_dir, warnings);
  for (const ReportRun* run : runs) {
    const bool evaluates = !run->folder.evaluation.empty();
    for (const auto& [tag, points] : run->events.scalars) {
      row.metrics[MetricKey(run->folder, tag)] =
          MetricOf(points, ModeOfTag(tag), evaluates ? row.best_step : std::nullopt);
    }
  }
  return row;
}

// The rows of the report, with the hyperparameters of which there are several values.
void MakeRows(Report& report) {
  std::vector<std::vector<const ReportRun*>> runs;
  for (const ReportRun& run : report.runs) {
    runs.resize(std::max(runs.size(), run.row + 1));
    runs[run.row].push_back(&run);
  }
  std::vector<Configuration> configurations;
  for (const auto& of_row : runs) {
    report.rows.push_back(RowOf(of_row, &report.warnings));
    configurations.push_back(RowConfiguration(of_row, &report.warnings));
  }
  for (const std::string& name : DifferingNames(configurations)) {
    for (size_t row = 0; row < report.rows.size(); ++row) {
      const auto value = configurations[row].find(name);
      if (value == configurations[row].end()) continue;
      report.rows[row].hyperparameters[name] = value->second;
    }
  }
}

// The table of the rows.
void MakeTable(Report& report) {
  using Kind = ReportColumn::Kind;
  report.table.columns = {"run", "step"};
  report.columns = {{.kind = Kind::kRun, .key = "run"}, {.kind = Kind::kStep, .key = "step"}};
  if (std::any_of(report.rows.begin(), report.rows.end(),
                  [](const ReportRow& row) { return row.best_step.has_value(); })) {
    report.table.columns.push_back("best_step");
    report.columns.push_back({.kind = Kind::kBestStep, .key = "best_step"});
  }
  const auto add_metrics = [&](bool rates) {
    for (const MetricHeading& heading : MetricHeadings(report)) {
      if (IsRate(heading.column.key) != rates) continue;
      report.table.columns.push_back(heading.name);
      report.columns.push_back(heading.column);
    }
  };
  add_metrics(/*rates=*/false);
  std::set<std::string> hyperparameters;
  for (const ReportRow& row : report.rows) {
    for (const auto& [name, value] : row.hyperparameters) hyperparameters.insert(name);
  }
  for (const std::string& name : hyperparameters) {
    report.table.columns.push_back(name);
    report.columns.push_back({.kind = Kind::kHyperparameter, .key = name});
  }
  add_metrics(/*rates=*/true);
  for (const ReportRow& row : report.rows) {
    std::vector<std::string>& cells = report.table.rows.emplace_back();
    for (const ReportColumn& column : report.columns) cells.push_back(CellOf(row, column));
  }
}

// The latest profile of a training that has a Profile: their folders are named by dates.
std::optional<proto::Profile> LatestProfile(const RunFolder& folder,
                                            std::vector<std::string>* warnings) {
  const std::string dir = absl::StrCat(folder.path, "/", kProfilesDir);
  if (!folder.evaluation.empty() || !FileExists(dir)) return std::nullopt;
  absl::StatusOr<std::vector<std::string>> names = ListDirectory(dir);
  if (!names.ok()) {
    warnings->push_back(std::string(names.status().message()));
    return std::nullopt;
  }
  std::sort(names->rbegin(), names->rend());
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(dir, "/", name, "/", kProfileFile);
    if (!FileExists(path)) continue;
    const absl::StatusOr<std::string> json = ReadFile(path);
    absl::StatusOr<proto::Profile> profile =
        json.ok() ? ParseProfileJson(*json) : absl::StatusOr<proto::Profile>(json.status());
    if (profile.ok()) return *std::move(profile);
    warnings->push_back(json.ok() ? absl::StrCat(path, ": ", profile.status().message())
                                  : std::string(json.status().message()));
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Report> ReadReport(const std::vector<std::string>& dirs) {
  Report report = {.title = absl::StrJoin(dirs, ", ")};
  ASSIGN_OR_RETURN(std::vector<RunFolder> folders, FindRuns(dirs, &report.warnings));
  for (RunFolder& folder : folders) {
    size_t row = 0;
    if (!report.runs.empty()) {
      const ReportRun& previous = report.runs.back();
      row = previous.row + (previous.folder.training == folder.training ? 0 : 1);
    }
    RunEvents events = ReadRunEvents(folder.event_files, &report.warnings);
    std::optional<proto::Profile> profile = LatestProfile(folder, &report.warnings);
    report.runs.push_back({.folder = std::move(folder),
                           .events = std::move(events),
                           .row = row,
                           .profile = std::move(profile)});
  }
  const bool any = std::any_of(report.runs.begin(), report.runs.end(),
                               [](const ReportRun& run) { return !run.events.IsEmpty(); });
  if (!any && !report.warnings.empty()) {
    return absl::DataLossError(
        absl::StrCat("there is nothing to report: ", absl::StrJoin(report.warnings, "; ")));
  }
  MakeRows(report);
  MakeTable(report);
  return report;
}

std::map<std::string, std::vector<size_t>> RunsByScalar(const Report& report) {
  std::map<std::string, std::vector<size_t>> runs;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    for (const auto& [tag, points] : report.runs[run].events.scalars) runs[tag].push_back(run);
  }
  return runs;
}

std::string NumberText(double value) { return absl::StrFormat("%.6g", value); }

}  // namespace tpurun
