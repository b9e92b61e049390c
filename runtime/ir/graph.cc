#include "runtime/ir/graph.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

std::string Place(const Node& node) {
  std::string place = absl::StrCat("%", node.id);
  if (!node.name.empty()) absl::StrAppend(&place, " \"", node.name, "\"");
  if (!node.origins.empty()) absl::StrAppend(&place, " of ", Describe(node.origins));
  return place;
}

absl::Status VerifyNode(const Graph& graph, const Node& node) {
  std::vector<Shape> operands;
  for (const Value input : node.inputs) {
    if (input.node < 0 || input.node >= node.id) {
      return absl::InternalError(absl::StrCat("operand %", input.node, " does not come before it"));
    }
    const Node& producer = graph.nodes()[input.node];
    if (input.result < 0 || input.result >= static_cast<int>(producer.shapes.size())) {
      return absl::InternalError(
          absl::StrCat("operand %", input.node, ":", input.result, " does not exist"));
    }
    operands.push_back(producer.shapes[input.result]);
  }
  ASSIGN_OR_RETURN(const std::vector<Shape> shapes, InferShapes(*node.op, operands, node.attrs));
  if (shapes.size() != node.shapes.size()) {
    return absl::InternalError(
        absl::StrCat("has ", node.shapes.size(), " results, want ", shapes.size()));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].dtype != node.shapes[i].dtype || shapes[i].dims != node.shapes[i].dims) {
      return absl::InternalError(absl::StrCat("result ", i, " is ", node.shapes[i].ToString(),
                                              ", its operands give ", shapes[i].ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyTies(const Graph& graph) {
  for (const Output& output : graph.outputs()) {
    if (!graph.Holds(output.value)) {
      return absl::InternalError(absl::StrCat("output \"", output.name, "\" has no value"));
    }
  }
  std::set<int> updated;
  for (const Update& update : graph.updates()) {
    if (update.variable < 0 || update.variable >= static_cast<int>(graph.variables().size()) ||
        !graph.Holds(update.value)) {
      return absl::InternalError("an update of a variable or value that does not exist");
    }
    const Variable& variable = graph.variables()[update.variable];
    if (!updated.insert(update.variable).second) {
      return absl::InternalError(absl::StrCat("variable \"", variable.name, "\" is updated twice"));
    }
    const Shape& shape = graph.shape(update.value);
    if (shape.dtype != variable.shape.dtype ||
        shape.num_elements() != variable.shape.num_elements()) {
      return absl::InternalError(absl::StrCat("the update of \"", variable.name, "\" is ",
                                              shape.ToString(), ", the variable is ",
                                              variable.shape.ToString()));
    }
  }
  std::set<std::string> names;
  for (const Variable& variable : graph.variables()) {
    if (!names.insert(variable.name).second) {
      return absl::InternalError(absl::StrCat("two variables are called \"", variable.name, "\""));
    }
  }
  return absl::OkStatus();
}

// A source node names a slot or a variable. The node has the shape of the slot, or the dtype and
// the number of elements of the variable.
absl::Status VerifySource(const Graph& graph, const Node& node) {
  if (!node.op->flags.source) return absl::OkStatus();
  if (node.attrs.Has("slot")) {
    const int64_t slot = node.attrs.Int("slot");
    if (slot < 0 || slot >= static_cast<int64_t>(graph.infeed().size())) {
      return absl::InternalError(absl::StrCat("infeed slot ", slot, " does not exist"));
    }
    if (!(graph.infeed()[slot].shape == node.shapes[0])) {
      return absl::InternalError(absl::StrCat("infeed slot ", slot, " is ",
                                              graph.infeed()[slot].shape.ToString(),
                                              ", the node is ", node.shapes[0].ToString()));
    }
  }
  if (node.attrs.Has("variable")) {
    const int index = graph.FindVariable(node.attrs.String("variable"));
    if (index < 0) {
      return absl::InternalError(
          absl::StrCat("variable \"", node.attrs.String("variable"), "\" does not exist"));
    }
    const Shape& shape = graph.variables()[index].shape;
    if (shape.dtype != node.shapes[0].dtype ||
        shape.num_elements() != node.shapes[0].num_elements()) {
      return absl::InternalError(absl::StrCat("variable \"", graph.variables()[index].name,
                                              "\" is ", shape.ToString(), ", the node is ",
                                              node.shapes[0].ToString()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int Graph::FindVariable(const std::string& name) const {
  const auto found = variable_index_.find(name);
  return found == variable_index_.end() ? -1 : found->second;
}

int Graph::FindOutput(const std::string& name) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<Value> Graph::AddNode(const OpDef& op, std::vector<Value> inputs, Attrs attrs,
                                     std::string name, Origins origins) {
  std::vector<Shape> operands;
  for (const Value input : inputs) {
    if (!Holds(input)) {
      return absl::InternalError(
          absl::StrCat(op.name, " \"", name, "\": an operand does not exist"));
    }
    operands.push_back(shape(input));
  }
  ASSIGN_OR_RETURN(attrs, TypedAttrs(op, std::move(attrs)));
  ASSIGN_OR_RETURN(std::vector<Shape> shapes, InferShapes(op, operands, attrs));
  // Every node has at least one result: passes read shapes[0].
  TPURUN_DCHECK(!shapes.empty());
  const int id = static_cast<int>(nodes_.size());
  nodes_.push_back(Node{id, &op, std::move(inputs), std::move(attrs), std::move(shapes),
                        std::move(name), std::move(origins)});
  return Value{id, 0};
}

void Graph::AddOrigins(int node, const Origins& origins) {
  nodes_[node].origins = Union(nodes_[node].origins, origins);
}

int Graph::AddInfeed(InfeedSlot slot) {
  infeed_.push_back(std::move(slot));
  return static_cast<int>(infeed_.size()) - 1;
}

int Graph::AddVariable(Variable variable) {
  const int index = static_cast<int>(variables_.size());
  variable_index_.emplace(variable.name, index);
  variables_.push_back(std::move(variable));
  return index;
}

void Graph::AddOutput(std::string name, Value value, int64_t period) {
  outputs_.push_back(Output{std::move(name), value, period});
}

absl::Status Graph::AddUpdate(int variable, Value value) {
  TPURUN_DCHECK(variable >= 0 && variable < static_cast<int>(variables_.size()));
  if (!updated_.insert(variable).second) {
    return absl::InternalError(
        absl::StrCat("variable \"", variables_[variable].name, "\" would be updated twice"));
  }
  updates_.push_back(Update{variable, value});
  return absl::OkStatus();
}

absl::Status VerifyGraph(const Graph& graph, const std::string& after) {
  const std::string prefix = absl::StrCat("after ", after);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.id != static_cast<int>(i) || node.op == nullptr) {
      return absl::InternalError(absl::StrCat(prefix, ": node ", i, " is misnumbered"));
    }
    absl::Status status = VerifyNode(graph, node);
    if (status.ok()) status = VerifySource(graph, node);
    if (!status.ok()) {
      return absl::InternalError(
          absl::StrCat(prefix, ": ", node.op->name, " ", Place(node), ": ", status.message()));
    }
  }
  const absl::Status status = VerifyTies(graph);
  if (!status.ok()) return absl::InternalError(absl::StrCat(prefix, ": ", status.message()));
  return absl::OkStatus();
}

}  // namespace tpurun
