// The results of the runs of a report, side by side: the final and the best value of each metric,
// the hyperparameters that differ, and the order of the runs by a metric.
#ifndef TPURUN_RUNTIME_REPORT_COMPARISON_H_
#define TPURUN_RUNTIME_REPORT_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/metric_mode.h"

namespace tpurun {

struct Report;

// A column of Report::table.
struct ReportColumn {
  enum class Kind : uint8_t { kRun, kStep, kBestStep, kMetric, kHyperparameter };
  Kind kind = Kind::kMetric;
  // "loss" of a training, "eval/loss" of an evaluation; of a hyperparameter its path.
  std::string key;
  std::optional<MetricMode> mode;  // of a metric, if its name tells it
};

// A metric of a run.
struct ReportMetric {
  // Of an evaluation of the best checkpoint at that step; any other at its last step.
  double value = 0;
  // Of a metric with a mode that has a value which is a number: the first of its best values.
  std::optional<double> best;
  int64_t best_step = 0;
};

struct ReportOrder {
  size_t column = 0;  // of Report::table
  MetricMode mode = MetricMode::kMin;
};

// The column of a metric that is named by its key ("eval/accuracy"), by its heading ("eval
// accuracy"), or by the tag that a single evaluation has ("accuracy"). InvalidArgument, which lists
// the metrics, for other names.
absl::StatusOr<size_t> FindMetric(const Report& report, const std::string& name);

// Sorts the rows of the table by ReportMetric::value, the best first, and rows without a number
// last. Sets Report::order. InvalidArgument without `mode` for a metric whose name does not tell
// it.
absl::Status SortByMetric(size_t column, std::optional<MetricMode> mode, Report& report);

// The row with the best value of the metric that the table is sorted by: the first. nullopt if it
// is not sorted, or no row has a number.
std::optional<size_t> BestRow(const Report& report);

// The rows as one JSON object on one line, for other programs:
//   {"runs": [{"run": "a", "model_dir": "/tmp/a", "step": 100, "best_step": 50,
//              "metrics": {"loss": 0.5, "eval/accuracy": 0.9},
//              "best": {"eval/accuracy": {"value": 0.95, "step": 50}},
//              "hyperparameters": {"model.optimizer.sgd.learning_rate": 0.1}}],
//    "sort_by": "eval/accuracy", "mode": "MAX", "best_run": "a", "warnings": []}
// The runs are in the order of the table. "best_step" is null without a best checkpoint. Without an
// order the three fields after "runs" are null; best_run also if no run has the metric. Numbers
// that are not finite are strings.
std::string JsonReport(const Report& report);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_COMPARISON_H_
