// The parts of a phase that run its unpartitioned instructions.
#ifndef TPURUN_RUNTIME_COMPILER_ASSIGN_PARTS_H_
#define TPURUN_RUNTIME_COMPILER_ASSIGN_PARTS_H_

#include "runtime/compiler/schedule.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Sets Partition::first_part of shared instructions with one part, which otherwise all run in part
// 0, one after the other. Instructions of a phase that depend on each other get the same part: the
// sum, the update and the packing of one variable. The parts have about equal work, and so have
// pairs of neighbours, and pairs of pairs, which few workers run as one (combine_parts.h).
void AssignParts(const Graph& graph, Schedule* schedule);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_ASSIGN_PARTS_H_
