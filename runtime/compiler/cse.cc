#include "runtime/compiler/cse.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"

namespace tpurun {
namespace {

// The key of a node. It is equal for nodes that compute the same: the node's text without its id
// and name.
std::string KeyOf(const Node& node, const std::vector<Value>& inputs) {
  std::string key = absl::StrCat(node.op->name, node.attrs.ToString());
  for (const Value input : inputs) absl::StrAppend(&key, " %", input.node, ":", input.result);
  return key;
}

}  // namespace

absl::StatusOr<Graph> MergeEqualNodes(const Graph& graph) {
  std::vector<bool> updates(graph.nodes().size(), false);
  for (const Update& update : graph.updates()) {
    const Node& node = graph.node(update.value);
    updates[node.id] = !node.op->flags.source;
  }
  Rewrite rewrite(graph);
  std::map<std::string, int> seen;  // key -> node of the new graph
  for (const Node& node : graph.nodes()) {
    const bool merges = !node.op->flags.random && !updates[node.id];
    const std::string key = KeyOf(node, rewrite.At(node.inputs));
    const auto found = seen.find(key);
    if (merges && found != seen.end()) {
      rewrite.Map(node, found->second);
      rewrite.graph.AddOrigins(found->second, node.origins);
      continue;
    }
    RETURN_IF_ERROR(rewrite.Copy(node));
    if (merges) seen.emplace(key, rewrite.map[node.id][0].node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
