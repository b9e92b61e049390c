// Finds the values that are provably the same on all cores, which are computed and stored once.
// Also finds the values that are the same in all steps (computed before the first step) and the
// loop-carried values.
#ifndef TPURUN_RUNTIME_COMPILER_REPLICATION_H_
#define TPURUN_RUNTIME_COMPILER_REPLICATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// [node]: true if its results may differ between cores. These are infeed, replica_id, per-core
// variables, and values computed from them without a collective. All false with one replica.
std::vector<bool> PerCoreNodes(const Graph& graph);

// [node]: true if it is in the prologue: it depends only on constants and on variables without an
// update, and is no update itself.
std::vector<bool> PrologueNodes(const Graph& graph);

// [node]: true if it is loop-carried (OpRules::loop_carried): its operands are all updated
// variables that all cores share. It is computed before the first step of a run, and again after
// the updates of each step for the next step. False for nodes that an output or an update reads.
std::vector<bool> CarriedNodes(const Graph& graph);

// per_core: gives a variable one copy per core if its update differs between cores. Finds the
// largest consistent set of shared variables: it starts with all variables shared, and demotes
// those whose update is per core until nothing changes.
absl::StatusOr<Graph> MarkPerCoreVariables(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_REPLICATION_H_
