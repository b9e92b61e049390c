#include "runtime/export/exported_model.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

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

// The nodes that the predictions depend on.
std::vector<bool> Needed(const EstimatorSpec& spec) {
  std::vector<bool> needed(spec.graph.nodes().size(), false);
  for (const NamedValue& prediction : spec.predictions) needed[prediction.value.node] = true;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Value input : spec.graph.nodes()[i].inputs) needed[input.node] = true;
  }
  return needed;
}

// "hidden_1/MatMul (matmul)".
std::string Describe(const Node& node) {
  return node.name.empty() ? node.op->name : absl::StrCat(node.name, " (", node.op->name, ")");
}

class Exporter {
 public:
  Exporter(const EstimatorSpec& x, const EstimatorSpec& y, ExportRule OpDef::*rule)
      : x_(x), y_(y), rule_(rule), results_(x.graph.nodes().size()) {}

  absl::StatusOr<ExportedModel> Export() {
    const std::vector<bool> needed = Needed(x_);
    if (x_.graph.nodes().size() != y_.graph.nodes().size()) return AnotherGraph("its nodes");
    std::set<std::string> without_rule;
    for (size_t i = 0; i < needed.size(); ++i) {
      const OpDef& op = *x_.graph.nodes()[i].op;
      if (needed[i] && (op.*rule_) == nullptr) without_rule.insert(op.name);
    }
    if (!without_rule.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model cannot be exported in this format: it has no words for the ops ",
                       absl::StrJoin(without_rule, ", ")));
    }
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      const absl::Status added = Add(static_cast<int>(i));
      if (!added.ok()) return Annotate(added, Describe(x_.graph.nodes()[i]));
    }
    for (size_t i = 0; i < x_.predictions.size(); ++i) {
      const NamedValue& prediction = x_.predictions[i];
      const std::optional<Shape> shape =
          Merged(x_.graph.shape(prediction.value), y_.graph.shape(y_.predictions[i].value));
      if (!shape.has_value()) return AnotherGraph(Quote(prediction.name));
      model_.predictions.push_back({prediction.name,
                                    results_[prediction.value.node][prediction.value.result],
                                    ElementTypeOf(shape->dtype), shape->dims});
    }
    for (const ExportOutput& output : x_.export_outputs) {
      model_.outputs.push_back({output.kind,
                                results_[output.value.node][output.value.result],
                                {x_.graph.shape(output.value).dims.begin() + 1,
                                 x_.graph.shape(output.value).dims.end()}});
    }
    for (size_t i = 0; i < model_.graph.nodes().size(); ++i) {
      const ExportNode& node = model_.graph.nodes()[i];
      if (node.kind != ExportNode::Kind::kInput) continue;
      model_.inputs.push_back({node.key, {static_cast<int>(i), 0}, node.type, node.dims});
    }
    model_.variables = x_.graph.variables();
    return std::move(model_);
  }

 private:
  absl::Status Add(int id) {
    const Node &x = x_.graph.nodes()[id], &y = y_.graph.nodes()[id];
    const std::optional<Attrs> attrs = Merged(x.attrs, y.attrs);
    if (x.op != y.op || x.inputs != y.inputs || !attrs.has_value()) return AnotherGraph("it");
    ExportCall call{.graph = model_.graph, .model = x_.graph, .attrs = *attrs};
    for (const Value input : x.inputs) {
      call.inputs.push_back(results_[input.node][input.result]);
      const std::optional<Shape> shape = Merged(x_.graph.shape(input), y_.graph.shape(input));
      if (!shape.has_value()) return AnotherGraph("an operand");
      call.operands.push_back(*shape);
    }
    for (size_t i = 0; i < x.shapes.size(); ++i) {
      const std::optional<Shape> shape = Merged(x.shapes[i], y.shapes[i]);
      if (!shape.has_value()) return AnotherGraph("a result");
      call.results.push_back(*shape);
    }
    model_.graph.set_scope(x.name);
    ASSIGN_OR_RETURN(results_[id], (x.op->*rule_)(call));
    results_[id].resize(x.shapes.size());
    if (results_[id].size() == 1) model_.graph.NameResult(results_[id][0], x.name);
    return absl::OkStatus();
  }

  static absl::Status AnotherGraph(const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " depends on the batch in more than its shape"));
  }

  const EstimatorSpec& x_;  // for 2 rows
  const EstimatorSpec& y_;  // for 3
  ExportRule OpDef::*const rule_;
  ExportedModel model_;
  std::vector<std::vector<Value>> results_;  // by node of x_
};

}  // namespace

absl::StatusOr<ExportedModel> ExportModel(const ModelFn& model_fn, int64_t seed,
                                          ExportRule OpDef::*rule) {
  ModelFnArgs args = {.mode = ModeKey::kPredict,
                      .batch_per_replica = 2,
                      .has_labels = false,
                      .use_tpu = false,
                      .seed = seed};
  ASSIGN_OR_RETURN(const EstimatorSpec for_2, model_fn(args));
  args.batch_per_replica = 3;
  ASSIGN_OR_RETURN(const EstimatorSpec for_3, model_fn(args));
  if (for_2.predictions.empty()) {
    return absl::InvalidArgumentError(
        "the model predicts nothing; give it a head, or prediction entries");
  }
  return Exporter(for_2, for_3, rule).Export();
}

}  // namespace tpurun
