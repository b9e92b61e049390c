#include "data/shard_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace tpurun {

std::string ShardPath(const ShardName& name) {
  return absl::StrFormat("%s-%05d-of-%05d", name.prefix, name.shard, name.num_shards);
}

std::optional<ShardName> ParseShardPath(const std::string& path) {
  constexpr absl::string_view kForm = "-00000-of-00000";
  if (path.size() < kForm.size()) return std::nullopt;
  const absl::string_view ending = absl::string_view(path).substr(path.size() - kForm.size());
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == '0' ? absl::ascii_isdigit(ending[i]) : ending[i] == kForm[i];
    if (!fits) return std::nullopt;
  }
  ShardName name{.prefix = path.substr(0, path.size() - kForm.size())};
  const bool numbers = absl::SimpleAtoi(ending.substr(1, 5), &name.shard) &&
                       absl::SimpleAtoi(ending.substr(kForm.size() - 5), &name.num_shards);
  return numbers ? std::optional(name) : std::nullopt;
}

}  // namespace tpurun
