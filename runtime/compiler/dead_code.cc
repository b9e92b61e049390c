#include "runtime/compiler/dead_code.h"

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"

namespace tpurun {

std::vector<bool> LiveNodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const Output& output : graph.outputs()) live[output.value.node] = true;
  for (const Update& update : graph.updates()) live[update.value.node] = true;
  for (size_t id = graph.nodes().size(); id-- > 0;) {
    if (!live[id]) continue;
    for (const Value input : graph.nodes()[id].inputs) live[input.node] = true;
  }
  return live;
}

absl::StatusOr<Graph> RemoveDeadCode(const Graph& graph) {
  const std::vector<bool> live = LiveNodes(graph);
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    if (live[node.id]) RETURN_IF_ERROR(rewrite.Copy(node));
  }
  return rewrite.Finish();
}

}  // namespace tpurun
