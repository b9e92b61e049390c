// The names of a set of files: PREFIX-00000-of-00004, PREFIX-00001-of-00004 and so on, as
// TensorFlow's tools have them. Each name carries the number of files, so a missing one is noticed.
#ifndef TPURUN_DATA_SHARD_NAME_H_
#define TPURUN_DATA_SHARD_NAME_H_

#include <optional>
#include <string>

namespace tpurun {

struct ShardName {
  std::string prefix;
  int shard = 0;
  int num_shards = 1;
};

std::string ShardPath(const ShardName& name);
// Nothing for a path of another form.
std::optional<ShardName> ParseShardPath(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_DATA_SHARD_NAME_H_
