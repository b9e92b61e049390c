#include "runtime/compiler/cost.h"

#include "runtime/base/status.h"
#include "runtime/compiler/dead_code.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

// A source is where values lie, and a constant lies there before the first step.
bool IsComputed(const Node& node) { return !node.op->flags.source && node.op != &ConstantOp(); }

}  // namespace

Cost CostOfNodes(const Graph& graph, const std::vector<bool>& counted) {
  Cost cost;
  for (const Node& node : graph.nodes()) {
    if (!counted[node.id] || !IsComputed(node)) continue;
    const OpCall call = CallOf(graph, node);
    cost.flops += Flops(call);
    for (const Shape& shape : call.operands) {
      cost.bytes_accessed += static_cast<double>(shape.bytes()) * CopiesPerOperand(call);
    }
    for (const Shape& shape : call.results) {
      cost.bytes_accessed += static_cast<double>(shape.bytes());
    }
  }
  return cost;
}

absl::StatusOr<Cost> CostOfStep(const Graph& graph) {
  ASSIGN_OR_RETURN(const Graph marked, MarkPerCoreVariables(graph));
  const std::vector<bool> per_core = PerCoreNodes(marked);
  std::vector<bool> on_each = LiveNodes(marked);
  std::vector<bool> once = on_each;
  for (size_t id = 0; id < per_core.size(); ++id) {
    (per_core[id] ? once : on_each)[id] = false;
  }
  const Cost each = CostOfNodes(marked, on_each);
  Cost cost = CostOfNodes(marked, once);
  cost.flops += each.flops * marked.num_replicas();
  cost.bytes_accessed += each.bytes_accessed * marked.num_replicas();
  return cost;
}

}  // namespace tpurun
