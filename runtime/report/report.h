// A report: the runs of some directories, ready to be shown as a page (html_report.h) or as text
// (text_report.h).
#ifndef TPURUN_RUNTIME_REPORT_REPORT_H_
#define TPURUN_RUNTIME_REPORT_REPORT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/profile.pb.h"
#include "runtime/report/find_runs.h"
#include "runtime/report/run_events.h"

namespace tpurun {

struct ReportRun {
  RunFolder folder;
  RunEvents events;
  size_t row = 0;  // row of the table, shared by a training and its evaluations
  std::optional<proto::Profile> profile;  // of a training: its latest
};

struct ReportTable {
  std::vector<std::string> columns;  // "run", "step", metrics, rates, differing configuration
  std::vector<std::vector<std::string>> rows;  // one cell per column; "" without a value
};

struct Report {
  std::string title;
  std::vector<ReportRun> runs;
  ReportTable table;
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
