// A report: the runs of some directories, ready to be shown as a page (html_report.h) or as text
// (text_report.h).
#ifndef TPURUN_RUNTIME_REPORT_REPORT_H_
#define TPURUN_RUNTIME_REPORT_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/profile.pb.h"
#include "runtime/report/comparison.h"
#include "runtime/report/find_runs.h"
#include "runtime/report/run_events.h"

namespace tpurun {

struct ReportTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // one cell per column; "" without a value
};

// What a Cloud TPU would make of a training.
struct ReportForecast {
  struct Table {
    std::string title;
    ReportTable table;
  };
  std::string error;                 // why there is no forecast: lines; then all else is empty
  std::vector<std::string> verdict;  // sentences
  std::vector<Table> tables;
  std::vector<std::string> advice;  // sentences
};

struct ReportRun {
  RunFolder folder;
  RunEvents events;
  size_t row = 0;  // row of the table, shared by a training and its evaluations
  std::optional<proto::Profile> profile;   // of a training: its latest
  std::optional<ReportForecast> forecast;  // in the first run of a row, if it is asked for
};

// The results of a training and of its evaluations.
struct ReportRow {
  std::string run;
  std::string model_dir;
  int64_t step = 0;                                    // the last of which there is a scalar
  std::optional<int64_t> best_step;                    // of the best checkpoint, if it has one
  std::map<std::string, ReportMetric> metrics;         // by ReportColumn::key
  std::map<std::string, std::string> hyperparameters;  // that differ between the rows
};

// The layers of a model, and the rows whose trainings have it.
struct ReportModel {
  std::string title;
  std::vector<size_t> rows;
  ReportTable table;
  std::vector<std::string> totals;  // sentences
};

struct Report {
  std::string title;
  std::vector<ReportRun> runs;
  ReportTable table;  // columns: "run", "step", "best_step" if a row has one, metrics, differing
                      // configuration, rates
  std::vector<ReportColumn> columns;  // of the table
  std::vector<ReportRow> rows;        // of the table
  std::optional<ReportOrder> order;   // after SortByMetric
  std::vector<ReportModel> models;    // empty if no run has a configuration
  // "On a Cloud TPU v3-8", and the forecasts side by side. Empty if they are not asked for.
  std::string forecasts_title;
  ReportTable forecasts;
  // Files that could not be read, one line each.
  std::vector<std::string> warnings;
};

// Reads all runs at or below `dirs`. Errors as in FindRuns. DataLoss if no run has any data because
// of damage.
absl::StatusOr<Report> ReadReport(const std::vector<std::string>& dirs);

// Tag -> the runs that have it, as indices into report.runs.
std::map<std::string, std::vector<size_t>> RunsByScalar(const Report& report);

// The value with six significant digits.
std::string NumberText(double value);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_REPORT_H_
