#include "runtime/compiler/hoist_column_sums.h"

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"

namespace tpurun {
namespace {

// The value with the fewest elements whose column sums equal those of `value`.
Value Earliest(const Graph& graph, Value value) {
  Value earliest = value;
  const auto take = [&](Value other) {
    if (graph.shape(other).num_elements() < graph.shape(earliest).num_elements()) earliest = other;
  };
  while (value.result == 0) {
    const Node& node = graph.node(value);
    const OpRules& rules = node.op->rules;
    if (rules.summed_result >= 0) take({node.id, rules.summed_result});
    if (!rules.keeps_column_sums || !rules.keeps_column_sums(CallOfNode(graph, node))) break;
    value = node.inputs[0];
    take(value);
  }
  return earliest;
}

}  // namespace

absl::StatusOr<Graph> HoistColumnSums(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    if (!node.op->rules.sums_columns) {
      RETURN_IF_ERROR(rewrite.Copy(node));
      continue;
    }
    const Value x = rewrite.At(Earliest(graph, node.inputs[0]));
    ASSIGN_OR_RETURN(const Value sums,
                     rewrite.graph.AddNode(*node.op, {x}, node.attrs, node.name, node.origins));
    rewrite.Map(node, sums.node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
