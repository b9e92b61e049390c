// What a step takes, before anything is fused: as XLA's cost analysis counts it.
#ifndef TPURUN_RUNTIME_COMPILER_COST_H_
#define TPURUN_RUNTIME_COMPILER_COST_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

struct Cost {
  double flops = 0;           // as OpDef::flops has them
  double bytes_accessed = 0;  // of every operand of every op, and of every result
};

// Of one node on one core.
Cost CostOfNode(const Graph& graph, const Node& node);

// Of all cores, of what an output or an update depends on; what is the same on all of them is
// computed once.
absl::StatusOr<Cost> CostOfStep(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_COST_H_
