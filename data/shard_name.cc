#include "data/shard_name.h"

#include <regex>

#include "absl/strings/str_format.h"

namespace tpurun {

std::string ShardPath(const ShardName& name) {
  return absl::StrFormat("%s-%05d-of-%05d", name.prefix, name.shard, name.num_shards);
}

std::optional<ShardName> ParseShardPath(const std::string& path) {
  static const std::regex* const kForm = new std::regex("-([0-9]{5})-of-([0-9]{5})");
  constexpr size_t kFormBytes = sizeof("-00000-of-00000") - 1;
  if (path.size() < kFormBytes) return std::nullopt;
  const auto begin = path.end() - kFormBytes;
  std::smatch numbers;
  if (!std::regex_match(begin, path.end(), numbers, *kForm)) return std::nullopt;
  return ShardName{.prefix = std::string(path.begin(), begin),
                   .shard = std::stoi(numbers[1]),
                   .num_shards = std::stoi(numbers[2])};
}

}  // namespace tpurun
