// Calls: the call of each node, with its partition into parts. Partitions depend on shapes alone
// and are fixed before any kernel is asked for a plan.
#ifndef TPURUN_RUNTIME_COMPILER_CALLS_H_
#define TPURUN_RUNTIME_COMPILER_CALLS_H_

#include <cstdint>
#include <vector>

#include "runtime/ir/graph.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// The most parts of an instruction that all cores share, a power of 2.
inline constexpr int64_t kParts = 8;

// `graph` must have gone through the pass per_core. Later passes keep the partition of every node,
// so a plan that a pass relied on is still valid when the schedule asks for plans the last time.
class Calls {
 public:
  explicit Calls(const Graph& graph);

  // The call that the node's kernel will get.
  OpCall Of(const Node& node) const;
  // Sources have no partition.
  const Partition& PartitionOf(const Node& node) const { return partitions_[node.id]; }
  const std::vector<bool>& per_core() const { return per_core_; }  // [node]
  // [node][result]: true if a node, an output or an update reads it.
  const std::vector<std::vector<bool>>& needed() const { return needed_; }

 private:
  const Graph& graph_;
  const std::vector<bool> per_core_;
  std::vector<std::vector<bool>> needed_;
  std::vector<Partition> partitions_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_CALLS_H_
