#include "runtime/compiler/fuse_allreduce_matmul.h"

#include <algorithm>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/collectives.h"
#include "runtime/ir/structural.h"

namespace tpurun {

namespace {

// The replicas whose sum is one chain of additions. A run of more than one host may be divided
// among processes: there the sum is a pairwise tree of chains, whose bits do not depend on the
// division.
int ReplicasOfChain(const ReplicaRange& replicas) {
  return replicas.all > kReplicasOfHost ? std::min(kLeastReplicasOfProcess, replicas.count)
                                        : replicas.count;
}

// The sum of `local` over the replicas [first, first + count) of the graph.
absl::StatusOr<Value> SumOfChains(const OpDef& op, const Node& local, const Node& sum, int first,
                                  int count, Rewrite& rewrite) {
  const Origins origins = Union(local.origins, sum.origins);
  if (count > ReplicasOfChain(rewrite.graph.replicas())) {
    ASSIGN_OR_RETURN(const Value left, SumOfChains(op, local, sum, first, count / 2, rewrite));
    ASSIGN_OR_RETURN(const Value right,
                     SumOfChains(op, local, sum, first + count / 2, count / 2, rewrite));
    return rewrite.graph.AddNode(AddOp(), {left, right}, {}, sum.name, origins);
  }
  Attrs attrs = local.attrs;
  if (count < rewrite.graph.num_replicas())
    attrs.Set(kOfReplicas, std::vector<int64_t>{first, count});
  return rewrite.graph.AddNode(op, rewrite.At(local.inputs), attrs, sum.name, origins);
}

}  // namespace

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
                     SumOfChains(*op, *local, node, 0, graph.num_replicas(), rewrite));
    rewrite.Map(node, value.node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
