// The groups of replicas in the configuration.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_REPLICA_GROUPS_H_
#define TPURUN_RUNTIME_OPTIMIZERS_REPLICA_GROUPS_H_

#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"

namespace tpurun {

using GroupAssignment = google::protobuf::RepeatedPtrField<proto::CrossShard::Group>;

// Reports groups that differ in size or do not cover each replica exactly once. Replicas are 0 to
// num_replicas - 1; if num_replicas is 1, there are as many as the groups list. `path` is the path
// of the field.
void CheckGroups(const GroupAssignment& groups, int num_replicas, const std::string& path,
                 ConfigErrors& errors);

// The group index (from 0) of each replica. Empty if one group has all replicas, which is also the
// meaning of an empty `groups`. `groups` must have passed CheckGroups.
std::vector<int64_t> GroupsOf(const GroupAssignment& groups, int num_replicas);
// The number of replicas in each group of GroupsOf.
int GroupSize(const std::vector<int64_t>& groups, int num_replicas);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_REPLICA_GROUPS_H_
