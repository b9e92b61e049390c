#include "runtime/report/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/profile/profile_files.h"
#include "runtime/report/configuration.h"

namespace tpurun {
namespace {

using Configuration = std::map<std::string, std::string>;
using Row = std::map<std::string, std::string>;  // cell by column

// A rate is no result: its column stands behind those of the metrics.
bool IsRate(const std::string& tag) { return absl::EndsWith(tag, "/sec"); }

// "loss" of a training, "eval loss" and "eval_NAME loss" of its evaluations.
std::string MetricColumn(const RunFolder& folder, const std::string& tag) {
  return folder.evaluation.empty() ? tag : absl::StrCat(folder.evaluation, " ", tag);
}

// Training and evaluations of one metric stand side by side.
std::vector<std::string> MetricColumns(const Report& report) {
  std::vector<std::string> metrics;
  std::vector<std::string> rates;
  for (const auto& [tag, runs] : RunsByScalar(report)) {
    std::map<std::string, std::string> by_evaluation;
    for (const size_t run : runs) {
      const RunFolder& folder = report.runs[run].folder;
      by_evaluation[folder.evaluation] = MetricColumn(folder, tag);
    }
    for (const auto& [evaluation, column] : by_evaluation) {
      (IsRate(tag) ? rates : metrics).push_back(column);
    }
  }
  metrics.insert(metrics.end(), rates.begin(), rates.end());
  return metrics;
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

Row MetricCells(const std::vector<const ReportRun*>& runs) {
  Row row;
  for (const ReportRun* run : runs) {
    for (const auto& [tag, points] : run->events.scalars) {
      row[MetricColumn(run->folder, tag)] = NumberText(points.back().value);
    }
  }
  return row;
}

ReportTable MakeTable(const Report& report, std::vector<std::string>* warnings) {
  std::vector<std::vector<const ReportRun*>> rows;
  for (const ReportRun& run : report.runs) {
    rows.resize(std::max(rows.size(), run.row + 1));
    rows[run.row].push_back(&run);
  }
  ReportTable table = {.columns = {"run", "step"}};
  std::vector<Row> cells;
  std::vector<Configuration> configurations;
  for (const auto& runs : rows) {
    table.rows.push_back({runs.front()->folder.training, absl::StrCat(LastStep(runs))});
    cells.push_back(MetricCells(runs));
    configurations.push_back(RowConfiguration(runs, warnings));
  }
  const auto add = [&](const std::vector<std::string>& names, const std::vector<Row>& values) {
    table.columns.insert(table.columns.end(), names.begin(), names.end());
    for (size_t row = 0; row < values.size(); ++row) {
      for (const std::string& name : names) {
        const auto cell = values[row].find(name);
        table.rows[row].push_back(cell == values[row].end() ? "" : cell->second);
      }
    }
  };
  add(MetricColumns(report), cells);
  add(DifferingNames(configurations), configurations);
  return table;
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
  report.table = MakeTable(report, &report.warnings);
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
