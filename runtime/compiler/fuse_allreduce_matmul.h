// Sums over cores of what sums over the batch, computed at once from the operands of all cores.
#ifndef TPURUN_RUNTIME_COMPILER_FUSE_ALLREDUCE_MATMUL_H_
#define TPURUN_RUNTIME_COMPILER_FUSE_ALLREDUCE_MATMUL_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// A cross_replica_sum whose operand nothing else reads becomes the collective that OpDef::
// summed_over_replicas names: a weight gradient as one product over the rows of the whole batch, of
// which no core writes a share of its own. The order of the sum changes, and so its last bits.
absl::StatusOr<Graph> FuseAllReduceMatmul(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_FUSE_ALLREDUCE_MATMUL_H_
