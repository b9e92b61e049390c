// Rewrite: builds a pass's new graph from the old one, node by node.
#ifndef TPURUN_RUNTIME_COMPILER_REWRITE_H_
#define TPURUN_RUNTIME_COMPILER_REWRITE_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// The new graph, with the slots and variables of the old one, and the new value of each old value.
struct Rewrite {
  explicit Rewrite(const Graph& old_graph);
  // The new graph is of other replicas.
  Rewrite(const Graph& old_graph, const ReplicaRange& replicas);

  const Graph& old;
  Graph graph;
  std::vector<std::vector<Value>> map;  // [old node][result]; invalid if it has no new value

  Value At(Value old_value) const { return map[old_value.node][old_value.result]; }
  std::vector<Value> At(const std::vector<Value>& old_values) const;
  // Maps the results of the old node to those of a new node.
  void Map(const Node& node, int new_node);
  // Appends a copy of the old node on the mapped operands and maps its results.
  absl::Status Copy(const Node& node);
  // Copies outputs and updates to the new graph and returns it.
  absl::StatusOr<Graph> Finish();
};

// The call of a whole node: unpartitioned, with all results needed. It is for questions about the
// node's op. Plans are asked for with Calls::Of.
OpCall CallOfNode(const Graph& graph, const Node& node);
// The number of reads of each node's results, by nodes, outputs and updates.
std::vector<int> CountReads(const Graph& graph);

// Operand `operand` of node `node`.
struct Use {
  int node = -1;
  int operand = 0;
};
// [variable]: the operands that read the variable's value, in node order.
std::vector<std::vector<Use>> VariableUses(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_REWRITE_H_
