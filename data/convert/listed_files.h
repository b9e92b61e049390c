// ListedFiles: writes the examples of a list into the same files as ExampleFiles, shard after
// shard. When the process is killed, the finished shards stay, and the next process with the same
// list goes on with the others. Beside the files, until they get their names:
//   .PREFIX.unfinished               which list they are of; locked while a process writes them
//   .PREFIX-00003-of-01024.finished  a complete shard
#ifndef TPURUN_DATA_CONVERT_LISTED_FILES_H_
#define TPURUN_DATA_CONVERT_LISTED_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/convert/example_list.h"
#include "data/convert/shard_set.h"
#include "runtime/io/locked_file.h"
#include "runtime/io/record_format.h"

namespace tpurun {

class ListedFiles {
 public:
  // Takes over the finished shards that a process with the same list, compression and number of
  // shards left, and removes those of other lists. Unavailable if another process writes a list to
  // this prefix. DataLoss if a file would have no records. See ShardSet::Create. `list` must
  // outlive the result.
  static absl::StatusOr<std::unique_ptr<ListedFiles>> Create(const std::string& prefix, int shards,
                                                             Compression compression,
                                                             const std::vector<std::string>& inputs,
                                                             const ExampleList& list);
  // Removes the shards without a name, unless Write could not write, as on a full disk: finished
  // shards then stay.
  ~ListedFiles();
  ListedFiles(const ListedFiles&) = delete;
  ListedFiles& operator=(const ListedFiles&) = delete;

  // `counted` is called now and then with the number of records written so far, those of finished
  // shards included; `finished` with the number of finished shards when it has grown. May be empty.
  void set_counted(std::function<void(int64_t records)> counted) { counted_ = std::move(counted); }
  void set_finished(std::function<void(int shards)> finished) {
    on_finished_ = std::move(finished);
  }

  // Writes the shards that are not finished, then what belongs beside the records, and gives the
  // files their names (ShardSet::NameAll). To be called once.
  absl::Status Write();

  int64_t records() const { return list_.size(); }
  const std::vector<std::string>& paths() const { return set_.paths(); }
  // How many shards are finished.
  int num_finished() const { return num_finished_; }
  // What an interrupt is to remove while no shard is finished.
  std::string StatePath() const { return state_->path().text(); }

  // Removes what killed or interrupted processes left of this prefix, of any number of shards. What
  // a running process writes stays, and so does what cannot be removed.
  static void RemoveUnfinished(const std::string& prefix);

 private:
  ListedFiles(ShardSet set, Compression compression, const ExampleList& list, std::string prefix,
              std::unique_ptr<LockedFile> state)
      : set_(std::move(set)),
        compression_(compression),
        list_(list),
        prefix_(std::move(prefix)),
        state_(std::move(state)) {}

  absl::Status TakeOver();
  absl::Status WriteShards();
  absl::Status WriteShard(int shard, ThreadPool& pool);
  // Of this list and of any other of the prefix.
  absl::Status RemoveFinished() const;

  const ShardSet set_;
  const Compression compression_;
  const ExampleList& list_;
  const std::string prefix_;
  const std::unique_ptr<LockedFile> state_;
  std::vector<bool> finished_;  // by shard
  int num_finished_ = 0;
  int64_t written_ = 0;  // records
  bool keep_ = false;
  std::function<void(int64_t records)> counted_;
  std::function<void(int shards)> on_finished_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_LISTED_FILES_H_
