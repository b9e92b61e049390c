#include "data/convert/shard_set.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/shard_name.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"

namespace tpurun {
namespace {

std::vector<std::string> ShardPaths(const std::string& prefix, int shards) {
  if (shards == 1) return {prefix};
  std::vector<std::string> paths;
  for (int shard = 0; shard < shards; ++shard) {
    paths.push_back(ShardPath({.prefix = prefix, .shard = shard, .num_shards = shards}));
  }
  return paths;
}

absl::Status CheckNoOtherShards(const std::string& prefix, const std::vector<std::string>& paths) {
  // Without the directory, creating the files says so.
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(DirName(prefix));
  if (!names.ok()) return absl::OkStatus();
  for (const std::string& name : *names) {
    if (!IsOfPrefix(name, BaseName(prefix))) continue;
    const std::string path = JoinPath(DirName(prefix), name);
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--output: ", path, " is there from another number of shards, and ", prefix,
                     "* would read both: remove it, or choose another prefix"));
  }
  return absl::OkStatus();
}

// What cannot be removed does not keep the files from being written.
void RemoveLeftovers(const std::string& prefix) {
  RemoveTemporaryFiles(DirName(prefix), [&](const std::string& name) {
    return IsOfPrefix(name, BaseName(prefix));
  }).IgnoreError();
}

}  // namespace

bool IsOfPrefix(const std::string& name, const std::string& prefix) {
  const std::optional<ShardName> shard = ParseShardPath(name);
  return name == prefix || (shard.has_value() && shard->prefix == prefix);
}

absl::StatusOr<ShardSet> ShardSet::Create(const std::string& prefix, int shards,
                                          std::vector<std::string> inputs) {
  ShardSet set(ShardPaths(prefix, shards), std::move(inputs));
  RETURN_IF_ERROR(CheckNoOtherShards(prefix, set.paths_));
  RemoveLeftovers(prefix);
  for (const std::string& path : set.paths_) {
    ASSIGN_OR_RETURN(const FilePath target, ReplaceableFile(path, set.inputs_));
    // Those of a symbolic link are beside its target.
    if (target.text() != path) RemoveTemporaryFilesOf(target);
    set.targets_.push_back(target);
  }
  return set;
}

absl::Status ShardSet::CheckWritable(const std::string& prefix) {
  return OutputFile::Create(prefix).status();
}

std::vector<std::string> ShardSet::TemporaryPaths(const std::string& prefix, int shards) {
  std::vector<std::string> paths = ShardPaths(prefix, shards);
  for (std::string& path : paths) {
    path = TemporaryName(ReplaceableFile(path).value_or(path)).text();
  }
  return paths;
}

absl::Status ShardSet::CheckEnough(int64_t records) const {
  if (records >= size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      absl::StrJoin(inputs_, " and "), inputs_.empty() ? "" : ": ", records,
      records == 1 ? " record" : " records", " in all, want ", size(), " or more: one a shard"));
}

absl::Status ShardSet::RemoveAll() const {
  for (const FilePath& target : targets_) RETURN_IF_ERROR(RemoveFile(target));
  return SyncDirectories();
}

absl::Status ShardSet::NameAll(const std::function<absl::Status(int shard)>& name) const {
  const bool several = size() > 1;
  if (several) RETURN_IF_ERROR(RemoveAll());
  const absl::Status named = [&] {
    for (int shard = 0; shard < size(); ++shard) RETURN_IF_ERROR(name(shard));
    return SyncDirectories();
  }();
  if (!named.ok() && several) RemoveAll().IgnoreError();
  return named;
}

absl::Status ShardSet::SyncDirectories() const {
  std::set<std::string> directories;
  for (const FilePath& target : targets_) directories.insert(DirName(target.text()));
  for (const std::string& directory : directories) RETURN_IF_ERROR(SyncDirectory(directory));
  return absl::OkStatus();
}

}  // namespace tpurun
