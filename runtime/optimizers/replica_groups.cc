#include "runtime/optimizers/replica_groups.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tpurun {

void CheckGroups(const GroupAssignment& groups, int num_replicas, const std::string& path,
                 ConfigErrors& errors) {
  int listed = 0;
  for (const proto::CrossShard::Group& group : groups) listed += group.replica_size();
  const int count = num_replicas > 1 ? num_replicas : listed;
  const std::string all = absl::StrCat("0 to ", count - 1);
  std::vector<int> group_of(std::max(count, 0), -1);
  for (int i = 0; i < groups.size(); ++i) {
    const std::string group = absl::StrCat(path, "[", i, "]");
    if (groups[i].replica().empty()) {
      errors.Add(group, "a group wants at least one replica");
    } else if (groups[i].replica_size() != groups[0].replica_size()) {
      errors.Add(group, absl::StrCat("groups must have one size, got ", groups[0].replica_size(),
                                     " and ", groups[i].replica_size()));
    }
    for (int j = 0; j < groups[i].replica_size(); ++j) {
      const int replica = groups[i].replica(j);
      const std::string field = absl::StrCat(group, ".replica[", j, "]");
      if (replica < 0 || replica >= count) {
        errors.Add(field,
                   absl::StrCat("there is no replica ", replica, ", want each of ", all, " once"));
      } else if (group_of[replica] >= 0) {
        errors.Add(field, absl::StrCat("replica ", replica, " is in group ", group_of[replica],
                                       " already, want each of ", all, " once"));
      } else {
        group_of[replica] = i;
      }
    }
  }
  const auto missing = std::find(group_of.begin(), group_of.end(), -1);
  if (groups.empty() || missing == group_of.end() || listed >= count) return;
  errors.Add(path, absl::StrCat("replica ", missing - group_of.begin(),
                                " is in no group, want each of ", all, " once"));
}

std::vector<int64_t> GroupsOf(const GroupAssignment& groups, int num_replicas) {
  if (groups.size() <= 1 || num_replicas <= 1) return {};
  std::vector<int64_t> group_of(num_replicas, 0);
  for (int i = 0; i < groups.size(); ++i) {
    for (const int replica : groups[i].replica()) group_of[replica] = i;
  }
  return group_of;
}

int GroupSize(const std::vector<int64_t>& groups, int num_replicas) {
  if (groups.empty()) return num_replicas;
  return static_cast<int>(std::count(groups.begin(), groups.end(), groups[0]));
}

}  // namespace tpurun
