// A report: the runs of some directories, ready to be shown as a page (html_report.h) or as text
// (text_report.h).
#ifndef TPURUN_RUNTIME_REPORT_REPORT_H_
#define TPURUN_RUNTIME_REPORT_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/report/find_runs.h"
#include "runtime/report/run_events.h"

namespace tpurun {

struct ReportRun {
  RunFolder folder;
  RunEvents events;
  size_t row = 0;  // of the table: a training's and its evaluations' is the same
};

struct ReportTable {
  std::vector<std::string> columns;  // "run", "step", metrics, rates, what differs between runs
  std::vector<std::vector<std::string>> rows;  // a cell a column; "" where there is no value
};

struct Report {
  std::string title;
  std::vector<ReportRun> runs;
  ReportTable table;
  // What could not be read, a line each.
  std::vector<std::string> warnings;
};

// Reads all runs at or below `dirs`; errors are FindRuns'. DataLoss when damage left nothing of
// them all.
absl::StatusOr<Report> ReadReport(const std::vector<std::string>& dirs);

// tag -> the runs that have it, by their places in report.runs.
std::map<std::string, std::vector<size_t>> RunsByScalar(const Report& report);

// Six significant digits, as people read them.
std::string NumberText(double value);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_REPORT_H_
