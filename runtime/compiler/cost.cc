#include "runtime/compiler/cost.h"

#include <vector>

#include "runtime/base/status.h"
#include "runtime/compiler/dead_code.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

// False for a source, which is already in memory, and for a constant, which is in memory before the
// first step.
bool IsComputed(const Node& node) { return !node.op->flags.source && node.op != &ConstantOp(); }

}  // namespace

Cost CostOfNode(const Graph& graph, const Node& node) {
  if (!IsComputed(node)) return {};
  return CostOf(CallOfNode(graph, node));
}

absl::StatusOr<Cost> CostOfStep(const Graph& graph) {
  ASSIGN_OR_RETURN(const Graph marked, MarkPerCoreVariables(graph));
  const std::vector<bool> per_core = PerCoreNodes(marked);
  const std::vector<bool> live = LiveNodes(marked);
  Cost sum;
  for (const Node& node : marked.nodes()) {
    if (!live[node.id]) continue;
    sum += CostOfNode(marked, node) * (per_core[node.id] ? marked.num_replicas() : 1);
  }
  return sum;
}

}  // namespace tpurun
