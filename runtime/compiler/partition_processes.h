// partition_processes: keeps the replicas of one process of a graph of all.
#ifndef TPURUN_RUNTIME_COMPILER_PARTITION_PROCESSES_H_
#define TPURUN_RUNTIME_COMPILER_PARTITION_PROCESSES_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// The graph of the replicas of process `process` out of `processes`. Each collective becomes one of
// these replicas and one of the processes, with the same bits:
//   cross_replica_sum                -> cross_process_sum(cross_replica_sum)
//   cross_replica_sum {groups}       -> group_sums(cross_process_concat(the replicas' values))
//   cross_replica_concat             -> cross_process_concat(cross_replica_concat)
// The tree of a sum over all replicas is that over each process's and then over the processes,
// because both numbers are powers of 2. Unchanged for one process. InvalidArgument if the processes
// cannot share the replicas.
absl::StatusOr<Graph> PartitionProcesses(const Graph& graph, int processes, int process);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_PARTITION_PROCESSES_H_
