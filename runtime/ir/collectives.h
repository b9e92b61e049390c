// Ops in which replicas meet.
#ifndef TPURUN_RUNTIME_IR_COLLECTIVES_H_
#define TPURUN_RUNTIME_IR_COLLECTIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ir/graph_builder.h"

namespace tpurun {

// {groups}: the sum over all replicas, or, where `groups` has the group of each replica from 0,
// over each group: then the result has a row a group, (G, ...).
const OpDef& CrossReplicaSumOp();

// All of them, for the op table.
std::vector<const OpDef*> CollectiveOps();

// The sum of x over all replicas: one value, the same on all.
Value CrossReplicaSum(GraphBuilder& b, Value x, const std::string& label = "CrossReplicaSum");
// Over the replicas of a replica's own group; no groups: over all.
Value CrossReplicaSum(GraphBuilder& b, Value x, const std::vector<int64_t>& groups,
                      const std::string& label = "CrossReplicaSum");

// x (K, ...) of replica 0, of replica 1 ..., as one value (R K, ...), the same on all.
Value CrossReplicaConcat(GraphBuilder& b, Value x);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_COLLECTIVES_H_
