// The calls that will run: how each node is cut into parts, decided once, by shapes alone, before
// any kernel is asked for a plan.
#ifndef TPURUN_RUNTIME_COMPILER_CALLS_H_
#define TPURUN_RUNTIME_COMPILER_CALLS_H_

#include <cstdint>
#include <vector>

#include "runtime/ir/graph.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// Of a graph that has gone through the pass per_core. From there on every pass keeps the cut of a
// node, so what a plan promised one of them holds when the schedule asks for the last time.
class Calls {
 public:
  explicit Calls(const Graph& graph);

  // As the node's kernel will see it.
  OpCall Of(const Node& node) const;
  // Sources have none.
  const Partition& PartitionOf(const Node& node) const { return partitions_[node.id]; }
  const std::vector<bool>& per_core() const { return per_core_; }  // per node
  // Per node and result: whether a node, an output or an update reads it.
  const std::vector<std::vector<bool>>& needed() const { return needed_; }

 private:
  const Graph& graph_;
  const std::vector<bool> per_core_;
  std::vector<std::vector<bool>> needed_;
  std::vector<Partition> partitions_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_CALLS_H_
