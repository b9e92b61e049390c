// Collective ops: ops that combine the values of all replicas.
#ifndef TPURUN_RUNTIME_IR_COLLECTIVES_H_
#define TPURUN_RUNTIME_IR_COLLECTIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ir/graph_builder.h"

namespace tpurun {

// {groups}: the sum over all replicas. If `groups` has the group of each replica (from 0), the sum
// over each of the G groups; the result is then (G, ...) with one row per group.
const OpDef& CrossReplicaSumOp();
// {replicas}: see CrossReplicaConcat.
const OpDef& CrossReplicaConcatOp();

// What the pass partition_processes makes of the collectives of all replicas, for the replicas of
// one process. {groups}: the sums of groups of rows. {processes}: the sum over the processes, and
// the rows of all processes.
const OpDef& GroupSumsOp();
const OpDef& CrossProcessSumOp();
const OpDef& CrossProcessConcatOp();

// All collective ops, for the op table.
std::vector<const OpDef*> CollectiveOps();

// The sum of x over all replicas: one value, shared by all replicas.
Value CrossReplicaSum(GraphBuilder& b, Value x, const std::string& label = "CrossReplicaSum");
// The sum over the replicas of the replica's own group. Empty `groups`: over all replicas.
Value CrossReplicaSum(GraphBuilder& b, Value x, const std::vector<int64_t>& groups,
                      const std::string& label = "CrossReplicaSum");

// Concatenates x (K, ...) of replica 0, replica 1, ... to one value (R K, ...), shared by all R
// replicas.
Value CrossReplicaConcat(GraphBuilder& b, Value x);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_COLLECTIVES_H_
