#include "runtime/export/exported_model.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {
namespace {

// Numbers of two builds: the same, or -1.
std::vector<int64_t> Merged(const std::vector<int64_t>& x, const std::vector<int64_t>& y) {
  std::vector<int64_t> merged = x;
  for (size_t i = 0; i < merged.size(); ++i) {
    if (x[i] != y[i]) merged[i] = -1;
  }
  return merged;
}

// nullopt when the shapes differ in more than dimensions.
std::optional<Shape> Merged(const Shape& x, const Shape& y) {
  if (x.dtype != y.dtype || x.rank() != y.rank()) return std::nullopt;
  return Shape{x.dtype, Merged(x.dims, y.dims)};
}

// nullopt when they differ in more than the numbers of lists.
std::optional<Attrs> Merged(const Attrs& x, const Attrs& y) {
  Attrs merged;
  for (const auto& [name, value] : x.values()) {
    const auto other = y.values().find(name);
    if (other == y.values().end()) return std::nullopt;
    const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
    const auto* others = std::get_if<std::vector<int64_t>>(&other->second);
    if (numbers != nullptr && others != nullptr && numbers->size() == others->size()) {
      merged.Set(name, Merged(*numbers, *others));
    } else if (value == other->second) {
      merged.Set(name, value);
    } else {
      return std::nullopt;
    }
  }
  return x.values().size() == y.values().size() ? std::optional(merged) : std::nullopt;
}

// The nodes that these values depend on.
std::vector<bool> Needed(const Graph& graph, const std::vector<Value>& wanted) {
  std::vector<bool> needed(graph.nodes().size(), false);
  for (const Value value : wanted) needed[value.node] = true;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Value input : graph.nodes()[i].inputs) needed[input.node] = true;
  }
  return needed;
}

// "hidden_1/MatMul (matmul)".
std::string Describe(const Node& node) {
  return node.name.empty() ? node.op->name : absl::StrCat(node.name, " (", node.op->name, ")");
}

absl::Status AnotherGraph(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " depends on the batch in more than its shape"));
}

// Adds a graph's values, built for two batches, to an ExportGraph.
class GraphExporter {
 public:
  // `x` is for kExportRows rows, `y` for one more; `wanted` is of both.
  GraphExporter(const Graph& x, const Graph& y, std::vector<Value> wanted, ExportRule OpDef::*rule,
                ExportGraph& to)
      : x_(x),
        y_(y),
        wanted_(std::move(wanted)),
        rule_(rule),
        to_(to),
        exported_(x.nodes().size()) {}

  // It is there already.
  void Give(Value value, Value exported) { exported_[value.node] = {exported}; }

  // The wanted values, in `to`.
  absl::StatusOr<std::vector<Value>> Export() {
    if (x_.nodes().size() != y_.nodes().size()) return AnotherGraph("its nodes");
    const std::vector<bool> needed = Needed(x_, wanted_);
    RETURN_IF_ERROR(CheckWords(needed));
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i] || !exported_[i].empty()) continue;
      const absl::Status added = Add(static_cast<int>(i));
      if (!added.ok()) return Annotate(added, Describe(x_.nodes()[i]));
    }
    std::vector<Value> values;
    for (const Value value : wanted_) {
      ASSIGN_OR_RETURN(values.emplace_back(), Exported(value));
    }
    return values;
  }

  // That both builds agree on.
  absl::StatusOr<Shape> ShapeOf(Value value, const std::string& what) const {
    const std::optional<Shape> shape = Merged(x_.shape(value), y_.shape(value));
    return shape.has_value() ? absl::StatusOr<Shape>(*shape) : AnotherGraph(what);
  }

 private:
  absl::Status CheckWords(const std::vector<bool>& needed) const {
    std::set<std::string> without_words;
    for (size_t i = 0; i < needed.size(); ++i) {
      const OpDef& op = *x_.nodes()[i].op;
      const bool has_words = op.*rule_ != nullptr || op.expand != nullptr;
      if (needed[i] && !has_words) without_words.insert(op.name);
    }
    if (without_words.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the model cannot be exported in this format: it has no words for the ops ",
                     absl::StrJoin(without_words, ", ")));
  }

  absl::StatusOr<Value> Exported(Value value) const {
    const Value exported = exported_[value.node][value.result];
    if (exported.valid()) return exported;
    return absl::InvalidArgumentError(absl::StrCat("result ", value.result, " of ",
                                                   Describe(x_.node(value)),
                                                   ", which is for gradients, has no words"));
  }

  absl::Status Add(int id) {
    const Node &x = x_.nodes()[id], &y = y_.nodes()[id];
    const std::optional<Attrs> attrs = Merged(x.attrs, y.attrs);
    if (x.op != y.op || x.inputs != y.inputs || !attrs.has_value()) return AnotherGraph("it");
    ExportCall call{.graph = to_,
                    .model = x_,
                    .node = x,
                    .larger = y,
                    .exported = exported_,
                    .wanted = wanted_,
                    .attrs = *attrs};
    for (const Value input : x.inputs) {
      ASSIGN_OR_RETURN(call.inputs.emplace_back(), Exported(input));
      ASSIGN_OR_RETURN(call.operands.emplace_back(), ShapeOf(input, "an operand"));
    }
    for (int i = 0; i < std::ssize(x.shapes); ++i) {
      ASSIGN_OR_RETURN(call.results.emplace_back(), ShapeOf({id, i}, "a result"));
    }
    to_.set_scope(x.name);
    std::vector<Value> results;
    if (x.op->*rule_ != nullptr) {
      ASSIGN_OR_RETURN(results, (x.op->*rule_)(call));
    }
    if (results.empty()) {
      ASSIGN_OR_RETURN(results, Expand(call));
    }
    results.resize(x.shapes.size());
    exported_[id] = std::move(results);
    if (x.shapes.size() == 1) to_.NameResult(exported_[id][0], x.name);
    return absl::OkStatus();
  }

  // The node as a graph of its own in other ops.
  absl::StatusOr<std::vector<Value>> Expand(const ExportCall& call) {
    if (call.node.op->expand == nullptr) {
      return absl::InvalidArgumentError("the format has no words for it");
    }
    std::vector<Value> operands, results;
    const auto build = [&](const Graph& model, const Node& node) -> absl::StatusOr<Graph> {
      operands.clear();
      GraphBuilder b(Graph(model.name(), model.num_replicas()));
      for (const Value input : node.inputs) operands.push_back(b.AddInfeed("", model.shape(input)));
      b.set_scope(node.name.empty() ? node.op->name : node.name);
      results = node.op->expand(b, node, operands);
      RETURN_IF_ERROR(b.status());
      return b.Take();
    };
    ASSIGN_OR_RETURN(const Graph x, build(x_, call.node));
    ASSIGN_OR_RETURN(const Graph y, build(y_, call.larger));
    std::vector<Value> wanted;
    for (const Value result : results) {
      if (result.valid()) wanted.push_back(result);
    }
    GraphExporter exporter(x, y, std::move(wanted), rule_, to_);
    for (size_t i = 0; i < operands.size(); ++i) exporter.Give(operands[i], call.inputs[i]);
    to_.ShareConstants(to_.scope());
    ASSIGN_OR_RETURN(const std::vector<Value> values, exporter.Export());
    to_.ShareConstants("");
    auto value = values.begin();
    for (Value& result : results) {
      if (result.valid()) result = *value++;
    }
    return results;
  }

  const Graph &x_, &y_;
  const std::vector<Value> wanted_;
  ExportRule OpDef::*const rule_;
  ExportGraph& to_;
  ExportedValues exported_;
};

absl::StatusOr<ExportedModel> ExportSpec(const EstimatorSpec& x, const EstimatorSpec& y,
                                         ExportRule OpDef::*rule) {
  std::vector<Value> wanted;
  for (size_t i = 0; i < x.predictions.size(); ++i) {
    wanted.push_back(x.predictions[i].value);
    if (y.predictions[i].value != wanted.back()) return AnotherGraph(Quote(x.predictions[i].name));
  }
  for (const ExportOutput& output : x.export_outputs) wanted.push_back(output.value);
  ExportedModel model;
  GraphExporter exporter(x.graph, y.graph, std::move(wanted), rule, model.graph);
  ASSIGN_OR_RETURN(std::vector<Value> values, exporter.Export());
  const std::vector<int> places = model.graph.KeepOnly(values);
  for (Value& value : values) value.node = places[value.node];
  auto value = values.begin();
  for (const NamedValue& prediction : x.predictions) {
    ASSIGN_OR_RETURN(const Shape shape, exporter.ShapeOf(prediction.value, Quote(prediction.name)));
    model.predictions.push_back(
        {prediction.name, *value++, ElementTypeOf(shape.dtype), shape.dims});
  }
  for (const ExportOutput& output : x.export_outputs) {
    const std::vector<int64_t>& dims = x.graph.shape(output.value).dims;
    ExportOutput& exported = model.outputs.emplace_back(output);
    exported.value = *value++;
    exported.row_dims.assign(dims.begin() + 1, dims.end());
  }
  for (size_t i = 0; i < model.graph.nodes().size(); ++i) {
    const ExportNode& node = model.graph.nodes()[i];
    if (node.kind != ExportNode::Kind::kInput) continue;
    model.inputs.push_back({node.key, {static_cast<int>(i), 0}, node.type, node.dims});
  }
  model.variables = x.graph.variables();
  model.class_names = x.class_names;
  return model;
}

}  // namespace

namespace {

// Returns the strings of `table` at the places `ids`, int64.
Value AddGather(ExportGraph& graph, ExportFormat format, Value table, Value ids) {
  if (format == ExportFormat::kOnnx) {
    return graph.Add("Gather", {table, ids}, {{"axis", int64_t{0}}});
  }
  return graph.Add("GatherV2", {table, ids, graph.Int32(0, "axis")},
                   {{"Tparams", ElementType::kString},
                    {"Tindices", ElementType::kInt64},
                    {"Taxis", ElementType::kInt32}});
}

}  // namespace

absl::StatusOr<ExportedModel> ExportModel(const ModelFn& model_fn, int64_t seed,
                                          ExportRule OpDef::*rule) {
  ModelFnArgs args = {.mode = ModeKey::kPredict,
                      .batch_per_replica = kExportRows,
                      .has_labels = false,
                      .use_tpu = false,
                      .seed = seed,
                      .sequence_step = SequenceStep::kWhole};
  ASSIGN_OR_RETURN(const EstimatorSpec x, model_fn(args));
  args.batch_per_replica = kExportRows + 1;
  ASSIGN_OR_RETURN(const EstimatorSpec y, model_fn(args));
  if (x.predictions.empty()) {
    return absl::InvalidArgumentError(
        "the model predicts nothing; give it a head, or prediction entries");
  }
  return ExportSpec(x, y, rule);
}

absl::StatusOr<std::vector<std::string>> AddInput(const ExportInputFn& input_fn,
                                                  ExportFormat format, ExportedModel& model) {
  std::set<std::string> features;
  for (const ExportedTensor& input : model.inputs) features.insert(input.name);
  ExportedModel with_input = model;
  ASSIGN_OR_RETURN(ExportedInput added, input_fn(with_input.graph, format, features));
  for (const ExportedTensor& input : model.inputs) {
    const auto column = added.features.find(input.name);
    const std::vector<int64_t> row(input.dims.begin() + 1, input.dims.end());
    if (column == added.features.end() || column->second.type != input.type ||
        column->second.row_dims != row) {
      return absl::UnimplementedError(
          absl::StrCat("the input does not make the feature ", Quote(input.name)));
    }
    with_input.graph.SetDefault(input.value, column->second.value);
  }
  for (const ExportedInput::Field& field : added.fields) {
    ExportDims dims = field.column.row_dims;
    dims.insert(dims.begin(), -1);
    with_input.fields.push_back(
        {field.name, field.column.value, field.column.type, dims, field.note});
  }
  with_input.serialized = added.serialized;
  model = std::move(with_input);
  return std::move(added.unsaid);
}

void NameClasses(const Vocabularies& vocabularies, ExportFormat format, ExportedModel& model) {
  for (ExportedTensor& prediction : model.predictions) {
    const auto names = model.class_names.find(prediction.name);
    if (names == model.class_names.end()) continue;
    const auto count = std::ssize(names->second);
    model.graph.set_scope(prediction.name);
    const Value table =
        model.graph.Constant(ExportTensor::Strings({count}, names->second), "label_vocabulary");
    prediction.value = AddGather(model.graph, format, table, prediction.value);
    prediction.type = ElementType::kString;
  }
  for (ExportOutput& output : model.outputs) {
    if (!output.class_names.empty()) continue;
    const auto words = vocabularies.find(output.label);
    if (output.kind != ExportOutput::Kind::kClassification || words == vocabularies.end()) continue;
    const bool one_each = std::ssize(words->second) == output.row_dims[0];
    if (one_each) output.class_names = words->second;
  }
}

}  // namespace tpurun
