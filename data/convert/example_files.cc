#include "data/convert/example_files.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/shard_name.h"
#include "proto/serialize.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

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

// Whether a file may be of the set of this prefix, of any number of shards.
bool IsOfPrefix(const std::string& name, const std::string& prefix) {
  const std::optional<ShardName> shard = ParseShardPath(name);
  return name == prefix || (shard.has_value() && shard->prefix == prefix);
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

absl::StatusOr<std::unique_ptr<ExampleFiles>> ExampleFiles::Create(
    const std::string& prefix, int shards, Compression compression,
    const std::vector<std::string>& inputs) {
  std::unique_ptr<ExampleFiles> files(new ExampleFiles(ShardPaths(prefix, shards), inputs));
  RETURN_IF_ERROR(CheckNoOtherShards(prefix, files->paths_));
  RemoveLeftovers(prefix);
  for (const std::string& path : files->paths_) {
    ASSIGN_OR_RETURN(const FilePath target, ReplaceableFile(path, inputs));
    // Those of a symbolic link are beside its target.
    if (target.text() != path) RemoveTemporaryFilesOf(target);
    ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(target));
    OutputFile* const borrowed = file.get();
    files->shards_.push_back(
        {borrowed, std::make_unique<RecordWriter>(std::move(file), compression, path)});
  }
  return files;
}

std::vector<std::string> ExampleFiles::TemporaryPaths(const std::string& prefix, int shards) {
  std::vector<std::string> paths = ShardPaths(prefix, shards);
  for (std::string& path : paths) {
    path = TemporaryName(ReplaceableFile(path).value_or(path)).text();
  }
  return paths;
}

absl::Status ExampleFiles::Write(const tensorflow::Example& example) {
  RecordWriter& shard = *shards_[records_++ % shards_.size()].records;
  if (counted_ && records_ % 256 == 0) counted_(records_);
  return shard.Write(SerializeDeterministically(example));
}

absl::Status ExampleFiles::RemoveSet() const {
  for (const Shard& shard : shards_) RETURN_IF_ERROR(RemoveFile(shard.file->path()));
  return SyncDirectories();
}

absl::Status ExampleFiles::NameSet() {
  for (const Shard& shard : shards_) RETURN_IF_ERROR(shard.file->Rename());
  return SyncDirectories();
}

absl::Status ExampleFiles::SyncDirectories() const {
  std::set<std::string> directories;
  for (const Shard& shard : shards_) directories.insert(DirName(shard.file->path().text()));
  for (const std::string& directory : directories) RETURN_IF_ERROR(SyncDirectory(directory));
  return absl::OkStatus();
}

absl::Status ExampleFiles::Commit() {
  if (records_ < static_cast<int64_t>(shards_.size())) {
    return absl::DataLossError(
        absl::StrCat(absl::StrJoin(inputs_, " and "), inputs_.empty() ? "" : ": ", records_,
                     records_ == 1 ? " record" : " records", " in all, want ", shards_.size(),
                     " or more: one a shard"));
  }
  for (const Shard& shard : shards_) RETURN_IF_ERROR(shard.records->Close());
  if (shards_.size() == 1) return shards_.front().file->Commit();
  RETURN_IF_ERROR(RemoveSet());
  const absl::Status named = NameSet();
  if (!named.ok()) RemoveSet().IgnoreError();
  return named;
}

}  // namespace tpurun
