// Which values are provably the same on all cores, computed once a step and stored once; and which
// are the same in all steps, computed before the first, or carried from one to the next.
#ifndef TPURUN_RUNTIME_COMPILER_REPLICATION_H_
#define TPURUN_RUNTIME_COMPILER_REPLICATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Per node: true when its results may differ between cores: infeed, replica_id, per-core variables
// and what is computed from them but not through a collective. All false with one replica.
std::vector<bool> PerCoreNodes(const Graph& graph);

// Per node: true when it is in the prologue: it depends on constants and on variables without an
// update alone, and is no update itself.
std::vector<bool> PrologueNodes(const Graph& graph);

// Per node: true when it is loop-carried (OpFlags::loop_carried): it depends on updated variables
// alone, which all cores share, and is computed before the first step of a run and again behind the
// updates of each step, for the next one. Not what an output or an update reads at the step's end.
std::vector<bool> CarriedNodes(const Graph& graph);

// per_core: gives a variable a copy a core when its update differs between cores. The largest
// consistent assumption: all are the same at first; a variable whose update is per core is demoted,
// and again, until nothing changes.
absl::StatusOr<Graph> MarkPerCoreVariables(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_REPLICATION_H_
