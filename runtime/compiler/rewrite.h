// Rewriting: how a pass builds its new graph from the old one, node by node.
#ifndef TPURUN_RUNTIME_COMPILER_REWRITE_H_
#define TPURUN_RUNTIME_COMPILER_REWRITE_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// The new graph with the old one's slots and variables, and where each old value went.
struct Rewrite {
  explicit Rewrite(const Graph& old_graph);

  const Graph& old;
  Graph graph;
  std::vector<std::vector<Value>> map;  // [old node][result]; invalid: not carried over

  Value At(Value old_value) const { return map[old_value.node][old_value.result]; }
  std::vector<Value> At(const std::vector<Value>& old_values) const;
  // Lets the results of the old node be those of a new one.
  void Map(const Node& node, int new_node);
  // Appends a copy of the old node on the mapped operands and maps its results.
  absl::Status Copy(const Node& node);
  // Carries outputs and updates over and returns the new graph.
  absl::StatusOr<Graph> Finish();
};

// What the node's op says of it, whichever part of it runs: uncut, all results needed. Plans are
// asked with Calls::Of.
OpCall CallOfNode(const Graph& graph, const Node& node);
// How often each node's results are read, by nodes, outputs and updates together.
std::vector<int> CountReads(const Graph& graph);

// Operand `operand` of node `node`.
struct Use {
  int node = -1;
  int operand = 0;
};
// The operands that are a variable's value: [variable], in node order.
std::vector<std::vector<Use>> VariableUses(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_REWRITE_H_
