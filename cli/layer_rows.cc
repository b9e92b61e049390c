#include "cli/layer_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/table.h"
#include "runtime/base/status.h"
#include "runtime/compiler/cost.h"
#include "runtime/compiler/dead_code.h"
#include "runtime/spec/dtypes.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

// What layers take is counted for this many examples: no shape that means something else has it.
constexpr int64_t kProbeBatch = 2;

struct Parameters {
  int64_t all = 0;
  int64_t trainable = 0;
  int64_t bytes = 0;

  void Add(const Variable& variable) {
    if (variable.scope == Variable::Scope::kState) return;  // of as many rows as a batch has
    const int64_t elements = variable.shape.num_elements();
    all += elements;
    if (variable.trainable) trainable += elements;
    bytes += variable.shape.bytes();
  }
};

Parameters ParametersOf(const Graph& graph, int first, int end) {
  Parameters parameters;
  for (int i = first; i < end; ++i) parameters.Add(graph.variables()[i]);
  return parameters;
}

// Those that training adds: slots and scalars of the optimizers, moving averages.
Parameters OptimizerParameters(const Graph& training, const Graph& model) {
  Parameters parameters;
  for (const Variable& variable : training.variables()) {
    if (model.FindVariable(variable.name) < 0 && variable.name != kGlobalStep) {
      parameters.Add(variable);
    }
  }
  return parameters;
}

// (batch, ...) with null for the batch.
Json ShapeJson(const std::vector<int64_t>& dims) {
  Json shape = Json::array({nullptr});
  for (size_t i = 1; i < dims.size(); ++i) shape.push_back(dims[i]);
  return shape;
}

std::string ElementTypeName(DType dtype) {
  return absl::AsciiStrToLower(proto::DataType_Name(FromDType(dtype)));
}

// FLOPs of the needed nodes before each node, and of all.
std::vector<double> FlopsBefore(const Graph& graph) {
  const std::vector<bool> live = LiveNodes(graph);
  std::vector<double> sums = {0};
  for (const Node& node : graph.nodes()) {
    sums.push_back(sums.back() + (live[node.id] ? CostOfNode(graph, node).flops() : 0));
  }
  return sums;
}

Json LayerJson(const EstimatorSpec& spec, const std::vector<double>& flops_before,
               const BuiltLayer& layer) {
  const Parameters parameters = ParametersOf(spec.graph, layer.first_variable, layer.end_variable);
  Json row = {{"kind", "layer"},
              {"name", layer.name},
              {"type", layer.kind},
              {"depth", layer.depth},
              {"inputs", layer.inputs}};
  const Shape& shape = spec.graph.shape(layer.value);
  row["output_shape"] = ShapeJson(shape.dims);
  row["dtype"] = ElementTypeName(shape.dtype);
  row["parameters"] = parameters.all;
  row["trainable_parameters"] = parameters.trainable;
  const double flops = flops_before[layer.end_node] - flops_before[layer.first_node];
  row["flops"] = WholeNumber(flops / kProbeBatch);
  return row;
}

// "1,130 (4.41 KiB)".
std::string WithBytes(const Json& number, int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024; ++unit) value /= 1024;
  return absl::StrFormat("%s (%.*f %s)", Grouped(number), unit == 0 ? 0 : 2, value, kUnits[unit]);
}

// As Keras writes it: (None, 8, 8, 16), a vector (None,).
std::string ShapeText(const Json& shape) {
  std::string text = "(None";
  for (size_t i = 1; i < shape.size(); ++i) absl::StrAppend(&text, ", ", JsonText(shape[i]));
  return absl::StrCat(text, shape.size() == 1 ? ",)" : ")");
}

}  // namespace

int64_t WholeNumber(double value) { return static_cast<int64_t>(std::min(value, 9.2e18)); }

absl::StatusOr<EstimatorSpec> BuildForward(const ModelFn& model_fn, const proto::RunConfig& run) {
  ASSIGN_OR_RETURN(EstimatorSpec spec, model_fn({.mode = ModeKey::kEval,
                                                 .batch_per_replica = kProbeBatch,
                                                 .use_tpu = run.use_tpu()}));
  for (const NamedValue& prediction : spec.predictions) {
    spec.graph.AddOutput(prediction.name, prediction.value);
  }
  for (const EvalMetric& metric : spec.eval_metrics) {
    for (const Value value : metric.statistics) spec.graph.AddOutput(metric.name, value);
  }
  if (!spec.layers.empty() && spec.layers.back().value.valid()) {
    spec.graph.AddOutput("last", spec.layers.back().value);
  }
  return spec;
}

std::vector<Json> LayerRows(const std::vector<FeatureSpec>& features, const EstimatorSpec& spec) {
  std::vector<Json> rows;
  for (const FeatureSpec& feature : features) {
    if (feature.is_label) continue;
    Json shape = Json::array({nullptr});
    for (const int64_t dim : feature.shape.dims) shape.push_back(dim);
    rows.push_back({{"kind", "feature"},
                    {"name", feature.name},
                    {"output_shape", shape},
                    {"dtype", ElementTypeName(feature.shape.dtype)}});
  }
  const std::vector<double> flops_before = FlopsBefore(spec.graph);
  for (const BuiltLayer& layer : spec.layers) rows.push_back(LayerJson(spec, flops_before, layer));
  return rows;
}

Json ModelRow(const std::string& name, const EstimatorSpec& forward,
              const std::vector<Json>& layers, const Graph* training) {
  const Parameters all =
      ParametersOf(forward.graph, 0, static_cast<int>(forward.graph.variables().size()));
  Json json = {{"kind", "model"},
               {"name", name},
               {"parameters", all.all},
               {"trainable_parameters", all.trainable},
               {"non_trainable_parameters", all.all - all.trainable},
               {"bytes", all.bytes}};
  if (training != nullptr) {
    const Parameters added = OptimizerParameters(*training, forward.graph);
    json["optimizer_parameters"] = added.all;
    json["optimizer_bytes"] = added.bytes;
  }
  int64_t flops = 0;
  for (const Json& row : layers) {
    if (row["kind"] == "layer" && row["depth"] == 0) flops += row["flops"].get<int64_t>();
  }
  json["flops"] = flops;
  return json;
}

std::vector<RowColumn> LayerColumns() {
  return {{"name"},
          {"type"},
          {"output_shape"},
          {"dtype"},
          {"parameters", true},
          {"trainable", true},
          {"flops", true},
          {"inputs"}};
}

Json LayerText(const Json& row) {
  const bool layer = row["kind"] == "layer";
  const int depth = row.value("depth", 0);
  Json text = {{"name", std::string(2 * depth, ' ') + row["name"].get<std::string>()},
               {"type", layer ? row["type"] : row["kind"]},
               {"output_shape", ShapeText(row["output_shape"])},
               {"dtype", row["dtype"]}};
  if (!layer) return text;
  text["parameters"] = Grouped(row["parameters"]);
  text["trainable"] = Grouped(row["trainable_parameters"]);
  text["flops"] = Grouped(row["flops"]);
  text["inputs"] = absl::StrJoin(row["inputs"].get<std::vector<std::string>>(), ", ");
  return text;
}

std::vector<std::string> ParameterLines(const Json& model) {
  std::vector<std::string> lines = {
      absl::StrCat("Total parameters: ", WithBytes(model["parameters"], model["bytes"])),
      absl::StrCat("Trainable parameters: ", Grouped(model["trainable_parameters"])),
      absl::StrCat("Non-trainable parameters: ", Grouped(model["non_trainable_parameters"]))};
  if (model.contains("optimizer_parameters")) {
    lines.push_back(absl::StrCat("Optimizer parameters: ", WithBytes(model["optimizer_parameters"],
                                                                     model["optimizer_bytes"])));
  }
  lines.push_back(absl::StrCat("FLOPs of an example: ", Grouped(model["flops"])));
  return lines;
}

}  // namespace tpurun
