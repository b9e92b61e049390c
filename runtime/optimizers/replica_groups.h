// Groups of replicas as the configuration lists them.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_REPLICA_GROUPS_H_
#define TPURUN_RUNTIME_OPTIMIZERS_REPLICA_GROUPS_H_

#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"

namespace tpurun {

using GroupAssignment = google::protobuf::RepeatedPtrField<proto::CrossShard::Group>;

// Reports groups that are not of one size or do not cover each replica once: 0 to num_replicas - 1,
// with one replica as many as are listed. `path` is the field's.
void CheckGroups(const GroupAssignment& groups, int num_replicas, const std::string& path,
                 ConfigErrors& errors);

// The group of each replica, from 0; empty where there is one group of all. `groups` has passed
// CheckGroups; none given is one of all.
std::vector<int64_t> GroupsOf(const GroupAssignment& groups, int num_replicas);
// Replicas that meet in a group of GroupsOf.
int GroupSize(const std::vector<int64_t>& groups, int num_replicas);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_REPLICA_GROUPS_H_
