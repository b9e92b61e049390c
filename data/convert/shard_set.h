// ShardSet: the names of the TFRecord files of one conversion, and how all of them appear together.
#ifndef TPURUN_DATA_CONVERT_SHARD_SET_H_
#define TPURUN_DATA_CONVERT_SHARD_SET_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/directory.h"

namespace tpurun {

class ShardSet {
 public:
  // One shard is the file PREFIX; several shards are PREFIX-00000-of-00002 and so on.
  // InvalidArgument if files of the same prefix and another number of shards exist, because PREFIX*
  // would read them too. InvalidArgument if an output is one of the files `inputs`, which are read
  // during the conversion. Removes temporary files of this prefix, of any number of shards, that
  // killed processes left.
  static absl::StatusOr<ShardSet> Create(const std::string& prefix, int shards,
                                         std::vector<std::string> inputs);
  // PermissionDenied if no file can be made beside the prefix. For use before a long search for
  // inputs.
  static absl::Status CheckWritable(const std::string& prefix);
  // The names that an OutputFile gives the shards until they are renamed.
  static std::vector<std::string> TemporaryPaths(const std::string& prefix, int shards);

  int size() const { return static_cast<int>(paths_.size()); }
  const std::vector<std::string>& paths() const { return paths_; }
  // The file that a shard's path leads to, which another directory may have.
  const FilePath& target(int shard) const { return targets_[shard]; }

  // DataLoss if so many records are less than one a shard.
  absl::Status CheckEnough(int64_t records) const;
  // Calls `name` for each shard, which renames a complete and durable file to target(shard). Files
  // of two sets are never present together, even after a power failure: an older set is removed
  // durably before the first file gets its name. After an error none is left. An interrupted call
  // leaves at most some files of one set; the number of shards in their names shows that some are
  // missing. A single file replaces the older file atomically.
  absl::Status NameAll(const std::function<absl::Status(int shard)>& name) const;
  // Makes the names in the directories of the shards durable.
  absl::Status SyncDirectories() const;

 private:
  ShardSet(std::vector<std::string> paths, std::vector<std::string> inputs)
      : paths_(std::move(paths)), inputs_(std::move(inputs)) {}
  absl::Status RemoveAll() const;

  std::vector<std::string> paths_;
  std::vector<FilePath> targets_;
  std::vector<std::string> inputs_;  // the files that the examples are read from
};

// True if a file of that name, without a folder, may be of the set of this prefix, of any number of
// shards.
bool IsOfPrefix(const std::string& name, const std::string& prefix);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_SHARD_SET_H_
