// fuse_allreduce_matmul: computes a sum over the batch and over all cores at once, from the
// operands of all cores.
#ifndef TPURUN_RUNTIME_COMPILER_FUSE_ALLREDUCE_MATMUL_H_
#define TPURUN_RUNTIME_COMPILER_FUSE_ALLREDUCE_MATMUL_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// A cross_replica_sum that is the only reader of its operand becomes the collective that
// OpDef::summed_over_replicas names. A weight gradient, for example, becomes one product over the
// rows of the whole batch, and no core writes its own share. The order of the sum changes, and
// therefore its last bits. With several hosts it is the pairwise sum of such products of 4 replicas
// each, which processes of 4 replicas or more compute to the same bits.
absl::StatusOr<Graph> FuseAllReduceMatmul(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_FUSE_ALLREDUCE_MATMUL_H_
