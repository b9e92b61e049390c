#include "runtime/ir/export_graph.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/dcheck.h"
#include "runtime/ir/graph.h"

namespace tpurun {
namespace {

std::string ValidName(std::string name) {
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '_' && c != '-' && c != '/') c = '_';
  }
  if (name.empty() || (!absl::ascii_isalnum(name[0]) && name[0] != '.'))
    name = absl::StrCat("x", name);
  return name;
}

}  // namespace

ElementType ElementTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ElementType::kFloat;
    case DType::kBF16:
      return ElementType::kBFloat16;
    case DType::kS32:
      return ElementType::kInt32;
    case DType::kS64:
      return ElementType::kInt64;
    case DType::kU8:
      return ElementType::kUint8;
    case DType::kU32:
      return ElementType::kUint32;
    case DType::kPred:
      return ElementType::kBool;
    case DType::kC64:
      return ElementType::kComplex64;
  }
  return ElementType::kFloat;
}

ExportTensor ExportTensor::Int64s(ExportDims dims, const std::vector<int64_t>& values) {
  return {.type = ElementType::kInt64,
          .dims = std::move(dims),
          .bytes = std::string(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(int64_t))};
}

ExportTensor ExportTensor::Float(float scalar) {
  return {.bytes = std::string(reinterpret_cast<const char*>(&scalar), sizeof(scalar))};
}

ExportTensor ExportTensor::Int32(int32_t scalar) {
  return {.type = ElementType::kInt32,
          .bytes = std::string(reinterpret_cast<const char*>(&scalar), sizeof(scalar))};
}

ExportTensor ExportTensor::Int32s(const std::vector<int32_t>& values) {
  return {.type = ElementType::kInt32,
          .dims = {static_cast<int64_t>(values.size())},
          .bytes = std::string(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(int32_t))};
}

ExportTensor ExportTensor::Strings(ExportDims dims, std::vector<std::string> values) {
  return {.type = ElementType::kString, .dims = std::move(dims), .strings = std::move(values)};
}

Value ExportGraph::Add(std::string op, std::vector<Value> inputs, ExportAttrs attrs,
                       const std::string& label) {
  const std::string& last = label.empty() ? op : label;
  std::string name = scope_.empty() ? last : absl::StrCat(scope_, "/", last);
  return AddNode({.op = std::move(op),
                  .name = std::move(name),
                  .inputs = std::move(inputs),
                  .attrs = std::move(attrs)});
}

Value ExportGraph::Constant(ExportTensor tensor, const std::string& label) {
  if (!constants_scope_.empty()) return SharedConstant(std::move(tensor), label);
  return NewConstant(std::move(tensor), label, scope_);
}

Value ExportGraph::NewConstant(ExportTensor tensor, const std::string& label,
                               const std::string& scope) {
  ExportNode node{.kind = ExportNode::Kind::kConstant,
                  .name = scope.empty() ? label : absl::StrCat(scope, "/", label),
                  .type = tensor.type,
                  .dims = tensor.dims};
  node.attrs["value"] = std::move(tensor);
  return AddNode(std::move(node));
}

Value ExportGraph::SharedConstant(ExportTensor tensor, const std::string& label) {
  const std::string content =
      absl::StrCat(label, "|", static_cast<int>(tensor.type), "|", absl::StrJoin(tensor.dims, ","),
                   "|", tensor.bytes, "|", absl::StrJoin(tensor.strings, "|"));
  const auto found = constants_.find(content);
  if (found != constants_.end()) return found->second;
  return constants_[content] = NewConstant(std::move(tensor), label, constants_scope_);
}

void ExportGraph::ShareConstants(std::string scope) {
  constants_scope_ = std::move(scope);
  constants_.clear();
}

std::vector<int> ExportGraph::KeepOnly(const std::vector<Value>& results) {
  std::vector<bool> needed(nodes_.size(), false);
  for (const Value result : results) needed[result.node] = true;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Value input : nodes_[i].inputs) {
      if (input.valid()) needed[input.node] = true;
    }
  }
  std::vector<int> places(nodes_.size(), -1);
  std::vector<ExportNode> kept;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!needed[i]) {
      names_.erase(nodes_[i].name);
      continue;
    }
    for (Value& input : nodes_[i].inputs) {
      if (input.valid()) input.node = places[input.node];
    }
    places[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(nodes_[i]));
  }
  nodes_ = std::move(kept);
  constants_.clear();
  for (auto* keyed : {&inputs_, &variables_}) {
    std::erase_if(*keyed, [&](const auto& entry) { return places[entry.second.node] < 0; });
    for (auto& [key, value] : *keyed) value.node = places[value.node];
  }
  return places;
}

Value ExportGraph::Int64s(const std::vector<int64_t>& values, const std::string& label) {
  return Constant(ExportTensor::Int64s({static_cast<int64_t>(values.size())}, values), label);
}

Value ExportGraph::Int64(int64_t value, const std::string& label) {
  return Constant(ExportTensor::Int64s({}, {value}), label);
}

Value ExportGraph::Int32(int32_t value, const std::string& label) {
  return Constant(ExportTensor::Int32(value), label);
}

Value ExportGraph::Input(const std::string& key, ElementType type, ExportDims dims) {
  return AddKeyed(inputs_, {.kind = ExportNode::Kind::kInput,
                            .name = key,
                            .key = key,
                            .type = type,
                            .dims = std::move(dims)});
}

Value ExportGraph::Variable(const std::string& key, ElementType type, ExportDims dims) {
  return AddKeyed(variables_, {.kind = ExportNode::Kind::kVariable,
                               .name = key,
                               .key = key,
                               .type = type,
                               .dims = std::move(dims)});
}

Value ExportGraph::NewInput(const std::string& key, ElementType type, ExportDims dims,
                            const std::string& label) {
  return AddNode({.kind = ExportNode::Kind::kInput,
                  .name = label,
                  .key = key,
                  .type = type,
                  .dims = std::move(dims)});
}

void ExportGraph::NameResult(Value value, const std::string& name) {
  ExportNode& node = nodes_[value.node];
  if (node.kind != ExportNode::Kind::kOp || name.empty()) return;
  names_.erase(node.name);
  node.name = Unique(ValidName(name));
}

Value ExportGraph::AddNode(ExportNode node) {
  for (const Value input : node.inputs) {
    TPURUN_DCHECK(input.node < static_cast<int>(nodes_.size()));
  }
  node.name = Unique(ValidName(std::move(node.name)));
  nodes_.push_back(std::move(node));
  return {static_cast<int>(nodes_.size()) - 1, 0};
}

Value ExportGraph::AddKeyed(std::map<std::string, Value>& added, ExportNode node) {
  const auto found = added.find(node.key);
  if (found != added.end()) return found->second;
  const std::string key = node.key;
  return added[key] = AddNode(std::move(node));
}

std::string ExportGraph::Unique(const std::string& name) {
  std::string unique = name;
  while (!names_.insert(unique).second) unique = absl::StrCat(name, "_", ++copies_[name]);
  return unique;
}

bool ExportCall::ResultIsOfBatch() const {
  const std::vector<int64_t>& dims = results[0].dims;
  return std::count(dims.begin(), dims.end(), -1) == 1 && dims[0] < 0 &&
         node.shapes[0].dims[0] == kExportRows && larger.shapes[0].dims[0] == kExportRows + 1;
}

Value InputOfBatch(const ExportGraph& graph) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const ExportNode& node = graph.nodes()[i];
    if (node.kind == ExportNode::Kind::kInput && !node.dims.empty() && node.dims[0] < 0)
      return {static_cast<int>(i), 0};
  }
  return {};
}

Value TensorFlowRows(ExportGraph& graph, Value x, ElementType type) {
  constexpr ElementType kIndex = ElementType::kInt64;
  const Value shape = graph.Add("Shape", {x}, {{"T", type}, {"out_type", kIndex}});
  return graph.Add("Slice", {shape, graph.Int64s({0}, "begin"), graph.Int64s({1}, "size")},
                   {{"T", kIndex}, {"Index", kIndex}});
}

namespace {

// The dimensions of the result without the first one, which an input gives, or invalid.
Value DimsOfExample(ExportCall& call) {
  if (!call.ResultIsOfBatch() || !InputOfBatch(call.graph).valid()) return {};
  const std::vector<int64_t>& dims = call.results[0].dims;
  return call.graph.Int64s({dims.begin() + 1, dims.end()}, "row");
}

}  // namespace

Value TensorFlowDimsOfBatch(ExportCall& call) {
  ExportGraph& g = call.graph;
  const Value row = DimsOfExample(call);
  if (!row.valid()) return {};
  const Value input = InputOfBatch(g);
  const Value rows = TensorFlowRows(g, input, g.nodes()[input.node].type);
  constexpr ElementType kIndex = ElementType::kInt64;
  return g.Add("ConcatV2", {rows, row, g.Int32(0, "axis")},
               {{"T", kIndex}, {"Tidx", ElementType::kInt32}, {"N", int64_t{2}}});
}

Value OnnxDimsOfBatch(ExportCall& call) {
  ExportGraph& g = call.graph;
  const Value row = DimsOfExample(call);
  if (!row.valid()) return {};
  const Value rows =
      g.Add("Shape", {InputOfBatch(g)}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  return g.Add("Concat", {rows, row}, {{"axis", int64_t{0}}});
}

Value OnnxReversed(ExportGraph& graph, Value x, int64_t axis) {
  return graph.Add("Slice", {x, graph.Int64s({-1}, "starts"),
                             graph.Int64s({std::numeric_limits<int64_t>::min()}, "ends"),
                             graph.Int64s({axis}, "axes"), graph.Int64s({-1}, "steps")});
}

ExportRule TensorFlowOp(std::string op, int type_of) {
  return [op, type_of](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
    return std::vector<Value>{call.graph.Add(op, call.inputs, {{"T", call.type(type_of)}})};
  };
}

ExportRule OnnxOp(std::string op) {
  return [op](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
    return std::vector<Value>{call.graph.Add(op, call.inputs)};
  };
}

}  // namespace tpurun
