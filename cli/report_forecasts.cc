#include "cli/report_forecasts.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/check_model.h"
#include "cli/check_text.h"
#include "cli/command_line.h"
#include "cli/json.h"
#include "cli/logging.h"
#include "cli/verb_table.h"
#include "runtime/base/status.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

constexpr size_t kPageLayers = 20;
constexpr size_t kPageAllocations = 10;

absl::StatusOr<ModelCheck> CheckRun(const std::string& model_dir, const Accelerator& accelerator) {
  const std::vector<std::string> arguments = {"check", absl::StrCat("--model_dir=", model_dir)};
  ASSIGN_OR_RETURN(const CommandLine command, ParseCommandLine(arguments, Verbs()));
  const ScopedNoLog no_log;  // the training has logged the warnings of its configuration
  return CheckTraining(command, accelerator);
}

std::string CellOfPage(const Json& row, const std::string& key) {
  const auto cell = row.find(key);
  if (cell == row.end()) return "";
  return cell->is_string() ? cell->get<std::string>() : JsonText(*cell);
}

ReportTable TableOfPage(const CheckTable& of_check) {
  ReportTable table;
  for (const RowColumn& column : of_check.columns) table.columns.push_back(column.key);
  for (const Json& row : of_check.rows) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    for (const std::string& column : table.columns) cells.push_back(CellOfPage(row, column));
  }
  return table;
}

ReportTable AllocationsOfPage(const CheckRows& rows) {
  ReportTable table{.columns = {"layers", "op", "shape", "size", "unpadded", "expansion"}};
  for (const Json& row : rows.allocations) {
    if (table.rows.size() == kPageAllocations) break;
    const auto bytes = row["bytes"].get<int64_t>();
    const auto unpadded = row["unpadded_bytes"].get<int64_t>();
    const double expansion =
        static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(unpadded, 1));
    table.rows.push_back({CellOfPage(row, "layers"), CellOfPage(row, "op"), row["shape"],
                          PrintTpuBytes(bytes), PrintTpuBytes(unpadded),
                          absl::StrFormat("%.1fx", expansion)});
  }
  return table;
}

ReportForecast ForecastOfPage(const ModelCheck& check, const CheckRows& rows) {
  ReportForecast forecast{.verdict = VerdictOf(check, rows), .advice = AdviceOf(check, rows)};
  forecast.verdict.push_back(CostSentence(check, rows));
  const auto add = [&](const char* title, ReportTable table) {
    if (!table.rows.empty()) forecast.tables.push_back({title, std::move(table)});
  };
  add("Where the time of a step goes", TableOfPage(LayersTable(rows, kPageLayers)));
  add("The largest allocations in the HBM of a core", AllocationsOfPage(rows));
  add("The same batch of a core on other slices", TableOfPage(SlicesTable(rows)));
  add("Where the matrix units pad most: sizes that are multiples of 128 help",
      TableOfPage(PaddingTable(rows)));
  return forecast;
}

std::vector<std::string> RowOfForecasts(const std::string& run, const Json& check) {
  return {run,
          check["fits"].get<bool>() ? "yes" : "no",
          PrintTpuBytes(check["hbm_bytes"]),
          PrintTpuBytes(check["hbm_capacity_bytes"]),
          JsonText(check["step_ms"]),
          ExamplesText(check["examples_per_second"].get<double>()),
          check["bound"],
          absl::StrFormat("%.1f", 100 * check["mxu_utilization"].get<double>())};
}

}  // namespace

void AddForecasts(const Accelerator& accelerator, Report& report) {
  report.forecasts_title = absl::StrCat("On a Cloud TPU ", accelerator.name());
  report.forecasts.columns = {"run",       "fits",       "HBM",   "of",
                              "ms a step", "examples/s", "bound", "MXU %"};
  std::set<size_t> rows_done;
  bool any = false;
  for (ReportRun& run : report.runs) {
    const std::string model_dir = ModelDirOf(run.folder);
    if (!rows_done.insert(run.row).second || !FileExists(RunConfigPath(model_dir))) continue;
    any = true;
    const absl::StatusOr<ModelCheck> check = CheckRun(model_dir, accelerator);
    if (!check.ok()) {
      run.forecast = ReportForecast{.error = std::string(check.status().message())};
      continue;
    }
    const CheckRows rows = CheckRowsOf(*check);
    run.forecast = ForecastOfPage(*check, rows);
    report.forecasts.rows.push_back(RowOfForecasts(run.folder.training, rows.check));
  }
  if (!any) {
    report.warnings.push_back(
        absl::StrCat("--accelerator_type=", accelerator.name(),
                     ": no run has a run_config.pbtxt, which train writes: there is no forecast"));
  }
}

}  // namespace tpurun
