#include "runtime/compiler/fuse_allreduce_matmul.h"

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/collectives.h"

namespace tpurun {

absl::StatusOr<Graph> FuseAllReduceMatmul(const Graph& graph) {
  const std::vector<int> reads = CountReads(graph);
  Rewrite rewrite(graph);
  // The collective that replaces a CrossReplicaSum and the node that the sum reads, or nullptr.
  const auto merged = [&](const Node& node) -> std::pair<const OpDef*, const Node*> {
    if (node.op != &CrossReplicaSumOp() || node.attrs.Has("groups") || graph.num_replicas() == 1)
      return {};
    const Node& local = graph.node(node.inputs[0]);
    if (!local.op->summed_over_replicas || local.shapes.size() != 1 || reads[local.id] != 1 ||
        local.shapes[0].dtype != DType::kF32) {
      return {};
    }
    return {local.op->summed_over_replicas(CallOfNode(graph, local)), &local};
  };
  std::vector<bool> gone(graph.nodes().size(), false);
  for (const Node& node : graph.nodes()) {
    if (const auto [op, local] = merged(node); op != nullptr) gone[local->id] = true;
  }
  for (const Node& node : graph.nodes()) {
    if (gone[node.id]) continue;
    const auto [op, local] = merged(node);
    if (op == nullptr) {
      RETURN_IF_ERROR(rewrite.Copy(node));
      continue;
    }
    ASSIGN_OR_RETURN(const Value value,
                     rewrite.graph.AddNode(*op, rewrite.At(local->inputs), local->attrs, node.name,
                                           Union(local->origins, node.origins)));
    rewrite.Map(node, value.node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
