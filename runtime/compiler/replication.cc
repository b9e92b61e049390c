#include "runtime/compiler/replication.h"

#include "runtime/ir/structural.h"

namespace tpurun {

std::vector<bool> PerCoreNodes(const Graph& graph) {
  std::vector<bool> per_core(graph.nodes().size(), false);
  if (graph.num_replicas() == 1) return per_core;
  for (const Node& node : graph.nodes()) {
    if (node.op->flags.collective) continue;
    bool differs = node.op->flags.per_replica;
    if (node.op == &VariableOp()) {
      differs = graph.variables()[graph.FindVariable(node.attrs.String("variable"))].per_core;
    }
    for (const Value input : node.inputs) differs = differs || per_core[input.node];
    per_core[node.id] = differs;
  }
  return per_core;
}

std::vector<bool> PrologueNodes(const Graph& graph) {
  const std::vector<bool> per_core = PerCoreNodes(graph);
  std::vector<bool> variable_updated(graph.variables().size(), false);
  std::vector<bool> is_update(graph.nodes().size(), false);
  for (const Update& update : graph.updates()) {
    variable_updated[update.variable] = true;
    is_update[update.value.node] = true;
  }
  std::vector<bool> in_prologue(graph.nodes().size(), false);
  for (const Node& node : graph.nodes()) {
    if (node.op == &VariableOp()) {
      in_prologue[node.id] = !variable_updated[graph.FindVariable(node.attrs.String("variable"))];
      continue;
    }
    bool fixed = !node.op->flags.source && !per_core[node.id] && !is_update[node.id];
    for (const Value input : node.inputs) fixed = fixed && in_prologue[input.node];
    in_prologue[node.id] = fixed;
  }
  return in_prologue;
}

std::vector<bool> CarriedNodes(const Graph& graph) {
  const std::vector<bool> per_core = PerCoreNodes(graph), in_prologue = PrologueNodes(graph);
  std::vector<bool> loop_carried(graph.nodes().size(), false);
  for (const Node& node : graph.nodes()) {
    loop_carried[node.id] =
        node.op->rules.loop_carried && !per_core[node.id] && !in_prologue[node.id];
    for (const Value input : node.inputs) {
      const bool updated = graph.node(input).op == &VariableOp() && !in_prologue[input.node];
      loop_carried[node.id] = loop_carried[node.id] && updated;
    }
  }
  for (const Output& output : graph.outputs()) loop_carried[output.value.node] = false;
  for (const Update& update : graph.updates()) loop_carried[update.value.node] = false;
  return loop_carried;
}

absl::StatusOr<Graph> MarkPerCoreVariables(const Graph& graph) {
  Graph marked = graph;
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<bool> per_core = PerCoreNodes(marked);
    for (const Update& update : marked.updates()) {
      if (!per_core[update.value.node] || marked.variables()[update.variable].per_core) continue;
      marked.SetPerCore(update.variable);
      changed = true;
    }
  }
  return marked;
}

}  // namespace tpurun
