#include "cli/report_models.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/check_input.h"
#include "cli/command_line.h"
#include "cli/config/load_config.h"
#include "cli/json.h"
#include "cli/layer_rows.h"
#include "cli/logging.h"
#include "cli/verb_table.h"
#include "models/model_builder.h"
#include "runtime/base/status.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

std::string CellOfLayer(const Json& row, const std::string& key) {
  const auto cell = row.find(key);
  return cell == row.end() ? "" : cell->get<std::string>();
}

// Without its rows.
absl::StatusOr<ReportModel> ReadModel(const std::string& model_dir) {
  const std::vector<std::string> arguments = {"summary", absl::StrCat("--model_dir=", model_dir)};
  ASSIGN_OR_RETURN(const CommandLine command, ParseCommandLine(arguments, Verbs()));
  ASSIGN_OR_RETURN(const LoadOptions load, command.load_options());
  const ScopedNoLog no_log;  // the training has logged the warnings of its configuration
  ConfigErrors errors;
  ASSIGN_OR_RETURN(const LoadedConfig config, LoadConfig(load, errors));
  const ParsedModel parsed =
      ParseModel(config.model, config.locations, errors, TargetOf(config.run));
  RETURN_IF_ERROR(ErrorList(errors.Lines(config.locations), errors.code()));
  ASSIGN_OR_RETURN(const EstimatorSpec forward, BuildForward(parsed.model_fn, config.run));
  const std::vector<Json> layers = LayerRows(parsed.features, forward);
  ReportModel model = {.title = config.model.name()};
  for (const RowColumn& column : LayerColumns()) model.table.columns.push_back(column.key);
  for (const Json& layer : layers) {
    const Json text = LayerText(layer);
    std::vector<std::string>& cells = model.table.rows.emplace_back();
    for (const std::string& column : model.table.columns) {
      cells.push_back(CellOfLayer(text, column));
    }
  }
  model.totals = ParameterLines(ModelRow(model.title, forward, layers, nullptr));
  return model;
}

}  // namespace

void AddModels(Report& report) {
  for (size_t row = 0; row < report.rows.size(); ++row) {
    const std::string& model_dir = report.rows[row].model_dir;
    if (!FileExists(RunConfigPath(model_dir))) continue;
    absl::StatusOr<ReportModel> model = ReadModel(model_dir);
    if (!model.ok()) {
      report.warnings.push_back(absl::StrCat(
          report.rows[row].run, ": its model is not shown: ", ErrorLines(model.status()).front()));
      continue;
    }
    const auto same = std::find_if(
        report.models.begin(), report.models.end(),
        [&](const ReportModel& known) { return known.table.rows == model->table.rows; });
    if (same != report.models.end()) {
      same->rows.push_back(row);
      continue;
    }
    model->rows.push_back(row);
    report.models.push_back(*std::move(model));
  }
}

}  // namespace tpurun
