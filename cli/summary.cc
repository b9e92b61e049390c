#include "cli/summary.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/check_input.h"
#include "cli/compose.h"
#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "cli/layer_rows.h"
#include "cli/logging.h"
#include "cli/summary_traffic.h"
#include "data/input_fn.h"
#include "data/sources/source_list.h"
#include "models/model_builder.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/compiler/cost.h"
#include "runtime/compiler/dead_code.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/estimator/step_graph.h"
#include "runtime/ir/structural.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/spec/input_deployment.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

// ------------------------------------------------------------------------------ the configuration

std::string VerbOf(ModeKey mode) {
  switch (mode) {
    case ModeKey::kTrain:
      return "train";
    case ModeKey::kEval:
      return "evaluate";
    case ModeKey::kPredict:
      return "predict";
  }
  return "";
}

std::vector<ModeInput> InputsOf(const proto::RunConfig& run) {
  std::vector<ModeInput> inputs;
  if (run.train().has_input()) {
    inputs.push_back({ModeKey::kTrain, "train.input", &run.train().input()});
  }
  for (int i = 0; i < run.evaluate_size(); ++i) {
    if (!run.evaluate(i).has_input()) continue;
    inputs.push_back({ModeKey::kEval, ElementPath("evaluate", i) + ".input",
                      &run.evaluate(i).input(), &run.evaluate(i)});
  }
  if (run.predict().has_input()) {
    inputs.push_back({ModeKey::kPredict, "predict.input", &run.predict().input()});
  }
  return inputs;
}

bool HasMode(const std::vector<ModeInput>& inputs, ModeKey mode) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const ModeInput& input) { return input.mode == mode; });
}

// Of the configuration as it stands in its files, and of what it makes: an ErrorList with the lines
// of all; without any, the first error of another kind.
absl::Status AllErrors(const ConfigErrors& errors, const SourceLocations& locations,
                       const std::vector<absl::Status>& found) {
  std::vector<std::string> lines = errors.Lines(locations);
  absl::StatusCode code = errors.code();
  absl::Status other;
  for (const absl::Status& status : found) {
    if (absl::IsInvalidArgument(status)) {
      code = status.code();
      for (std::string& line : ErrorLines(status)) lines.push_back(std::move(line));
    } else {
      other.Update(status);
    }
  }
  return lines.empty() ? other : ErrorList(lines, code);
}

// The steps of all modes that have an input, each mode once.
struct BuiltSteps {
  std::map<ModeKey, StepGraph> graphs;
  std::map<ModeKey, Cost> costs;
};

absl::Status BuildStep(const EstimatorOptions& options, ModeKey mode, BuiltSteps& steps) {
  if (steps.graphs.count(mode) > 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(StepGraph step, BuildStepGraph(options, mode));
  ASSIGN_OR_RETURN(steps.costs[mode], CostOfStep(step.graph));
  steps.graphs[mode] = std::move(step);
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------- warnings

void WarnOfFiles(const LoadedConfig& config, const ModeInput& input,
                 std::vector<std::string>& warnings) {
  const absl::Status found = FindFiles(input.input->source());
  if (found.ok()) return;
  warnings.push_back(absl::StrCat(config.locations.Where(input.path + ".source"), ": ", input.path,
                                  ": ", found.message()));
}

// Whether a node that the layer added is needed; a layer without nodes of its own is.
bool IsUsed(const BuiltLayer& layer, const std::vector<bool>& live) {
  return layer.first_node == layer.end_node ||
         std::any_of(live.begin() + layer.first_node, live.begin() + layer.end_node,
                     [](bool needed) { return needed; });
}

// Features and layers that no step needs, and variables that no gradient reaches.
void WarnOfUnused(const BuiltSteps& steps, std::vector<std::string>& warnings) {
  const auto training = steps.graphs.find(ModeKey::kTrain);
  if (training == steps.graphs.end()) return;
  std::set<std::string> read;
  std::set<std::string> used;
  for (const auto& [mode, step] : steps.graphs) {
    const std::vector<bool> live = LiveNodes(step.graph);
    for (const Node& node : step.graph.nodes()) {
      if (!live[node.id] || node.op != &InfeedOp()) continue;
      read.insert(step.graph.infeed()[node.attrs.Int("slot")].name);
    }
    for (const BuiltLayer& layer : step.layers) {
      if (IsUsed(layer, live)) used.insert(layer.name);
    }
  }
  const Graph& graph = training->second.graph;
  for (const InfeedSlot& slot : graph.infeed()) {
    if (read.count(slot.name) > 0) continue;
    warnings.push_back(absl::StrCat("nothing reads ", Quote(slot.name), ", which the input feeds"));
  }
  std::set<int> silent = {training->second.trained.begin(), training->second.trained.end()};
  for (const Update& update : graph.updates()) silent.erase(update.variable);
  for (const BuiltLayer& layer : training->second.layers) {
    if (used.count(layer.name) > 0) continue;
    for (int i = layer.first_variable; i < layer.end_variable; ++i) silent.erase(i);
    warnings.push_back(
        absl::StrCat("layer ", Quote(layer.name), ": no loss, metric or prediction needs it"));
  }
  for (const int variable : silent) {
    warnings.push_back(absl::StrCat("variable ", Quote(graph.variables()[variable].name),
                                    ": no loss depends on it, training leaves it as it is"));
  }
}

// ----------------------------------------------------------------------------------------- text

struct SummaryRows {
  std::vector<Json> layers, steps, traffic, forecast;
  std::vector<std::string> warnings;
  Json model;
};

void WriteText(const SummaryRows& summary, RowWriter& rows) {
  const auto& [layers, steps, traffic, forecast, warnings, model] = summary;
  rows.Title(absl::StrCat("Model: ", Quote(model["name"].get<std::string>())));
  std::vector<Json> texts;
  for (const Json& row : layers) texts.push_back(LayerText(row));
  rows.Table(LayerColumns(), texts);
  for (const std::string& line : ParameterLines(model)) rows.Title(line);
  texts.clear();
  for (const Json& row : steps) {
    Json text = row;
    for (const char* key : {"batch_size", "flops", "bytes_accessed"}) text[key] = Grouped(row[key]);
    texts.push_back(text);
  }
  if (!texts.empty()) rows.Title("");
  rows.Table({{"step"}, {"batch_size", true}, {"flops", true}, {"bytes_accessed", true}}, texts);
  WriteTrafficText(traffic, forecast, rows);
  for (const std::string& warning : warnings) rows.Title("warning: " + Escape(warning));
}

void WriteJson(const SummaryRows& summary, RowWriter& rows) {
  for (const Json& row : summary.layers) rows.Object(row);
  for (const Json& row : summary.steps) {
    Json object = {{"kind", "step"}};
    object.update(row);
    rows.Object(object);
  }
  for (const Json& row : summary.traffic) rows.Object(row);
  for (const Json& row : summary.forecast) rows.Object(row);
  for (const std::string& warning : summary.warnings) {
    rows.Object({{"kind", "warning"}, {"message", warning}});
  }
  rows.Object(summary.model);
}

std::vector<Json> StepRows(const std::vector<ModeInput>& inputs, const proto::RunConfig& run,
                           const BuiltSteps& steps) {
  std::vector<Json> rows;
  for (const ModeInput& input : inputs) {
    const auto cost = steps.costs.find(input.mode);
    if (cost == steps.costs.end()) continue;
    std::string step = VerbOf(input.mode);
    if (input.evaluation != nullptr && input.evaluation->has_name()) {
      absl::StrAppend(&step, " --name=", input.evaluation->name());
    }
    rows.push_back({{"step", step},
                    {"batch_size", BatchSizeOf(run, input.mode)},
                    {"flops", WholeNumber(cost->second.flops())},
                    {"bytes_accessed", WholeNumber(cost->second.bytes())}});
  }
  return rows;
}

absl::Status AddTraffic(EstimatorOptions options, const TrafficFlags& flags,
                        const BuiltSteps& steps, SummaryRows& summary) {
  const auto training = steps.graphs.find(ModeKey::kTrain);
  if (flags.processes == 1 || training == steps.graphs.end()) return absl::OkStatus();
  options.topology.num_processes = flags.processes;
  ASSIGN_OR_RETURN(const std::vector<StepCollective> collectives,
                   CollectivesOfStep(options, training->second.graph));
  summary.traffic = TrafficRows(collectives, flags.processes);
  summary.forecast = ForecastRows(collectives, flags);
  return absl::OkStatus();
}

}  // namespace

absl::Status SummaryCommand(const CommandLine& command) {
  std::ostringstream out;
  const absl::Status status = Summarize(command, PrintsJson(command), out);
  RETURN_IF_ERROR(WriteOutput(out.str()));
  return status;
}

absl::Status Summarize(const CommandLine& command, bool json, std::ostream& out) {
  ASSIGN_OR_RETURN(const TrafficFlags flags, ReadTrafficFlags(command));
  ASSIGN_OR_RETURN(const LoadOptions load, command.load_options());
  ConfigErrors errors;
  ASSIGN_OR_RETURN(LoadedConfig loaded, LoadConfig(load, errors));
  if (flags.processes > 1) ShareReplicas(flags.processes, loaded, errors);
  const LoadedConfig config = std::move(loaded);
  std::vector<ModeInput> inputs = InputsOf(config.run);
  const bool alone = flags.processes == 1;
  // Several processes train alone.
  if (!alone) std::erase_if(inputs, [](const auto& of) { return of.mode != ModeKey::kTrain; });
  ValidateConfig(config,
                 {.train = !alone || HasMode(inputs, ModeKey::kTrain),
                  .evaluate = HasMode(inputs, ModeKey::kEval),
                  .predict = HasMode(inputs, ModeKey::kPredict),
                  .export_model = alone,
                  .num_processes = flags.processes},
                 errors);
  const bool valid = errors.empty();
  const ParsedModel model =
      ParseModel(config.model, config.locations, errors, TargetOf(config.run));
  std::vector<absl::Status> found;
  std::vector<std::string> warnings = errors.Warnings(config.locations);
  for (const ModeInput& input : inputs) {
    const std::shared_ptr<const InputPlan> plan = ParseInput(
        *input.input, config.run.transformation_func(), config.locations, input.path, "", errors);
    if (plan != nullptr) CheckModeInput(config, model.features, input, *plan, errors);
    WarnOfFiles(config, input, warnings);
  }
  const bool no_model = config.model_path.empty() && config.model.ByteSizeLong() == 0;
  if (model.model_fn == nullptr || no_model) return AllErrors(errors, config.locations, found);
  ASSIGN_OR_RETURN(const EstimatorSpec forward, BuildForward(model.model_fn, config.run));
  ASSIGN_OR_RETURN(const EstimatorOptions options,
                   MakeOptions(command, config, RequiredParts(), model));
  BuiltSteps steps;
  for (const ModeInput& input : inputs) {
    if (valid) found.push_back(BuildStep(options, input.mode, steps));
  }
  WarnOfUnused(steps, warnings);
  SummaryRows summary = {.layers = LayerRows(model.features, forward),
                         .steps = StepRows(inputs, config.run, steps),
                         .warnings = warnings};
  const auto training = steps.graphs.find(ModeKey::kTrain);
  summary.model = ModelRow(config.model.name(), forward, summary.layers,
                           training == steps.graphs.end() ? nullptr : &training->second.graph);
  found.push_back(AddTraffic(options, flags, steps, summary));
  RowWriter rows(json, out);
  (json ? WriteJson : WriteText)(summary, rows);
  RETURN_IF_ERROR(AllErrors(errors, config.locations, found));
  const auto count = static_cast<int64_t>(warnings.size()) + WarningCount();
  return command.GetBool("strict") ? WarningsError(count) : absl::OkStatus();
}

}  // namespace tpurun
