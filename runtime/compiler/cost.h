// The cost of a step before fusion.
#ifndef TPURUN_RUNTIME_COMPILER_COST_H_
#define TPURUN_RUNTIME_COMPILER_COST_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// The cost of one node on one core.
Cost CostOfNode(const Graph& graph, const Node& node);

// The cost on all cores of the nodes that an output or an update depends on. A node whose value is
// the same on all cores is counted once.
absl::StatusOr<Cost> CostOfStep(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_COST_H_
