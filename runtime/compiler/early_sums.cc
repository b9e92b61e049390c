#include "runtime/compiler/early_sums.h"

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"

namespace tpurun {
namespace {

// The value of the fewest elements that has the column sums of `value`.
Value Earliest(const Graph& graph, Value value) {
  while (true) {
    const Node& node = graph.node(value);
    if (value.result != 0 || !FlagsOf(CallOf(graph, node)).keeps_column_sums) return value;
    const Value before = node.inputs[0];
    if (graph.shape(before).num_elements() >= graph.shape(value).num_elements()) return value;
    value = before;
  }
}

}  // namespace

absl::StatusOr<Graph> SumEarly(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    if (!node.op->flags.sums_columns) {
      RETURN_IF_ERROR(rewrite.Copy(node));
      continue;
    }
    const Value x = rewrite.At(Earliest(graph, node.inputs[0]));
    ASSIGN_OR_RETURN(const Value sums, rewrite.graph.AddNode(*node.op, {x}, node.attrs, node.name));
    rewrite.Map(node, sums.node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
