// dead_code: removes the nodes that no output and no update depends on.
#ifndef TPURUN_RUNTIME_COMPILER_DEAD_CODE_H_
#define TPURUN_RUNTIME_COMPILER_DEAD_CODE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// [node]: true if an output or an update depends on it.
std::vector<bool> LiveNodes(const Graph& graph);

absl::StatusOr<Graph> RemoveDeadCode(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_DEAD_CODE_H_
