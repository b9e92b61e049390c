#include "runtime/compiler/split_batch.h"

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/structural.h"

namespace tpurun {

absl::StatusOr<Graph> SplitBatch(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    InChunks split;
    if (graph.num_replicas() == 1 && node.op->in_chunks)
      split = node.op->in_chunks(CallOf(graph, node));
    if (split.chunks < 2) {
      RETURN_IF_ERROR(rewrite.Copy(node));
      continue;
    }
    Attrs attrs = node.attrs;
    attrs.Set("chunks", split.chunks);
    ASSIGN_OR_RETURN(const Value chunks, rewrite.graph.AddNode(*split.op, rewrite.At(node.inputs),
                                                               attrs, node.name + "/chunks"));
    ASSIGN_OR_RETURN(const Value sum,
                     rewrite.graph.AddNode(SumOfChunksOp(), {chunks}, {}, node.name));
    rewrite.Map(node, sum.node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
