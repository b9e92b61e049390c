#include "runtime/compiler/rewrite.h"

#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/ir/structural.h"

namespace tpurun {

Rewrite::Rewrite(const Graph& old_graph) : Rewrite(old_graph, old_graph.replicas()) {}

Rewrite::Rewrite(const Graph& old_graph, const ReplicaRange& replicas)
    : old(old_graph), graph(old_graph.name(), replicas) {
  for (const InfeedSlot& slot : old.infeed()) graph.AddInfeed(slot);
  for (const Variable& variable : old.variables()) graph.AddVariable(variable);
  for (const Node& node : old.nodes()) map.emplace_back(node.shapes.size());
}

std::vector<Value> Rewrite::At(const std::vector<Value>& old_values) const {
  std::vector<Value> values;
  for (const Value old_value : old_values) values.push_back(At(old_value));
  return values;
}

void Rewrite::Map(const Node& node, int new_node) {
  // The new node has at least as many results as the old one.
  TPURUN_DCHECK(graph.nodes()[new_node].shapes.size() >= node.shapes.size());
  for (size_t result = 0; result < node.shapes.size(); ++result) {
    map[node.id][result] = Value{new_node, static_cast<int>(result)};
  }
}

absl::Status Rewrite::Copy(const Node& node) {
  ASSIGN_OR_RETURN(const Value value,
                   graph.AddNode(*node.op, At(node.inputs), node.attrs, node.name, node.origins));
  Map(node, value.node);
  return absl::OkStatus();
}

absl::StatusOr<Graph> Rewrite::Finish() {
  for (const Output& output : old.outputs())
    graph.AddOutput(output.name, At(output.value), output.period);
  for (const Update& update : old.updates())
    RETURN_IF_ERROR(graph.AddUpdate(update.variable, At(update.value)));
  return std::move(graph);
}

OpCall CallOfNode(const Graph& graph, const Node& node) {
  OpCall call{.op = node.op,
              .attrs = node.attrs,
              .results = node.shapes,
              .needed = std::vector<bool>(node.shapes.size(), true),
              .num_replicas = ReplicasRead(node.attrs, graph.num_replicas()).count};
  for (const Value input : node.inputs) call.operands.push_back(graph.shape(input));
  return call;
}

std::vector<std::vector<Use>> VariableUses(const Graph& graph) {
  std::vector<std::vector<Use>> uses(graph.variables().size());
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Node& source = graph.node(node.inputs[i]);
      if (source.op != &VariableOp()) continue;
      uses[graph.FindVariable(source.attrs.String("variable"))].push_back(
          {node.id, static_cast<int>(i)});
    }
  }
  return uses;
}

std::vector<int> CountReads(const Graph& graph) {
  std::vector<int> reads(graph.nodes().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const Value input : node.inputs) ++reads[input.node];
  }
  for (const Output& output : graph.outputs()) ++reads[output.value.node];
  for (const Update& update : graph.updates()) ++reads[update.value.node];
  return reads;
}

}  // namespace tpurun
