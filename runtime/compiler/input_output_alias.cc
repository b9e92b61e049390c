#include "runtime/compiler/input_output_alias.h"

#include <algorithm>
#include <map>

#include "runtime/base/status.h"
#include "runtime/compiler/node_periods.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

bool ReadsItsRowsOnly(const Graph& graph, const Node& node, int operand) {
  const OpFlags& flags = node.op->flags;
  if (flags.overwrites && operand == 0) return true;
  return flags.elementwise && graph.shape(node.inputs[operand]).dims == node.shapes[0].dims;
}

// The number of variables that each value updates.
std::map<Value, int> CountUpdates(const Graph& graph) {
  std::map<Value, int> counts;
  for (const Update& update : graph.updates()) ++counts[update.value];
  return counts;
}

// True if the update's value, or the value that it overwrites, may be written directly into the
// variable.
bool CanWriteVariable(const Graph& graph, const Update& update, const std::vector<Use>& uses,
                      const std::vector<bool>& per_core, const std::vector<NodePeriod>& periods) {
  const Node& producer = graph.node(update.value);
  const Variable& variable = graph.variables()[update.variable];
  // With one replica, the value has only one copy.
  const bool same_copies = graph.num_replicas() == 1 || per_core[producer.id] == variable.per_core;
  if (producer.op->flags.source || !same_copies) return false;
  // The device checks what instructions write into variables.
  if (producer.op->flags.exchange != Exchange::kNone) return false;
  // An element-wise op writes each element of all its results at the same time.
  if (update.value.result != 0 && !producer.op->flags.elementwise) return false;
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    if (use.node == producer.id) return ReadsItsRowsOnly(graph, producer, use.operand);
    return use.node < producer.id || periods[use.node].before;
  });
}

// Copies an output or an update that is the old value of an updated variable, before the variable
// is overwritten.
absl::StatusOr<Graph> CopyOldValues(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) RETURN_IF_ERROR(rewrite.Copy(node));
  std::vector<bool> updated(graph.variables().size(), false);
  for (const Update& update : graph.updates()) updated[update.variable] = true;
  const auto reads_updated = [&](const Node& node) {
    return node.op == &VariableOp() && updated[graph.FindVariable(node.attrs.String("variable"))];
  };
  const auto kept = [&](Value value, const std::string& name,
                        NodeOrigin::Phase phase) -> absl::StatusOr<Value> {
    const Node& node = graph.node(value);
    if (!reads_updated(node)) return rewrite.At(value);
    return rewrite.graph.AddNode(CopyOp(), {rewrite.At(value)}, {}, name,
                                 InPhase(node.origins, phase));
  };
  for (const Output& output : graph.outputs()) {
    ASSIGN_OR_RETURN(const Value value,
                     kept(output.value, output.name + "/copy", NodeOrigin::Phase::kOutput));
    rewrite.graph.AddOutput(output.name, value, output.period);
  }
  for (const Update& update : graph.updates()) {
    const std::string& variable = graph.variables()[update.variable].name;
    ASSIGN_OR_RETURN(const Value value,
                     kept(update.value, variable + "/copy", NodeOrigin::Phase::kUpdate));
    RETURN_IF_ERROR(rewrite.graph.AddUpdate(update.variable, value));
  }
  return std::move(rewrite.graph);
}

}  // namespace

Value WrittenOver(const Graph& graph, const Update& update) {
  const Node& writer = graph.node(update.value);
  if (!writer.op->flags.overwrites) return {};
  const Value value = writer.inputs[0];
  const auto is_value = [&](const auto& of) { return of.value == value; };
  int64_t readers = std::count_if(graph.outputs().begin(), graph.outputs().end(), is_value) +
                    std::count_if(graph.updates().begin(), graph.updates().end(), is_value);
  for (const Node& node : graph.nodes())
    readers += std::count(node.inputs.begin(), node.inputs.end(), value);
  const Update first = {.variable = update.variable, .value = value};
  return readers == 1 && CanWriteVariable(graph, first, VariableUses(graph)[update.variable],
                                          PerCoreNodes(graph), FindNodePeriods(graph))
             ? value
             : Value{};
}

absl::StatusOr<Graph> AliasInputsAndOutputs(const Graph& original) {
  ASSIGN_OR_RETURN(const Graph graph, CopyOldValues(original));
  const std::vector<bool> per_core = PerCoreNodes(graph);
  const std::vector<std::vector<Use>> uses = VariableUses(graph);
  const std::map<Value, int> updates = CountUpdates(graph);
  const std::vector<NodePeriod> periods = FindNodePeriods(graph);
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) RETURN_IF_ERROR(rewrite.Copy(node));
  for (const Output& output : graph.outputs())
    rewrite.graph.AddOutput(output.name, rewrite.At(output.value), output.period);
  for (const Update& update : graph.updates()) {
    Value value = rewrite.At(update.value);
    if (updates.at(update.value) > 1 ||
        !CanWriteVariable(graph, update, uses[update.variable], per_core, periods)) {
      const std::string name = graph.variables()[update.variable].name + "/assign";
      ASSIGN_OR_RETURN(value, rewrite.graph.AddNode(CopyOp(), {value}, {}, name,
                                                    InPhase(graph.node(update.value).origins,
                                                            NodeOrigin::Phase::kUpdate)));
    }
    RETURN_IF_ERROR(rewrite.graph.AddUpdate(update.variable, value));
  }
  return std::move(rewrite.graph);
}

}  // namespace tpurun
