// The names of a sharded file set: PREFIX-00000-of-00004, PREFIX-00001-of-00004 and so on, as in
// TensorFlow's tools. Each name has the number of files, so a missing file is noticed.
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
// Returns nullopt if the path does not have this form.
std::optional<ShardName> ParseShardPath(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_DATA_SHARD_NAME_H_
