// tf.Examples into TFRecord files that appear under their names only when all are complete.
#ifndef TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_
#define TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/example.pb.h"
#include "runtime/io/output_file.h"
#include "runtime/io/record_writer.h"

namespace tpurun {

class ExampleFiles {
 public:
  // One shard is the file PREFIX, several are PREFIX-00000-of-00002 and so on. Files of the same
  // prefix and another number of shards are InvalidArgument: PREFIX* would read them too; so is one
  // of the files `inputs`, which are read meanwhile. Temporary files that killed processes left of
  // this prefix, of any number of shards, are removed.
  static absl::StatusOr<std::unique_ptr<ExampleFiles>> Create(
      const std::string& prefix, int shards, Compression compression,
      const std::vector<std::string>& inputs);
  // The names that Create gives the files until Commit.
  static std::vector<std::string> TemporaryPaths(const std::string& prefix, int shards);

  // Record i goes to shard i % shards: read with num_parallel_reads = shards they come in this
  // order again.
  absl::Status Write(const tensorflow::Example& example);
  // Called with the records so far, now and then. May be null.
  void set_counted(std::function<void(int64_t records)> counted) { counted_ = std::move(counted); }
  // Makes the files complete and gives them their names; without it they are removed. DataLoss when
  // one would have no records. Files of two runs never stand side by side, also after a power cut:
  // an older set is gone for good before the first file of this one has its name. What ends Commit
  // in between leaves some files of one set at most, which the number in their names tells. A
  // single file replaces the older one at once.
  absl::Status Commit();

  int64_t records() const { return records_; }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  struct Shard {
    OutputFile* file = nullptr;  // of `records`
    std::unique_ptr<RecordWriter> records;
  };

  ExampleFiles(std::vector<std::string> paths, std::vector<std::string> inputs)
      : paths_(std::move(paths)), inputs_(std::move(inputs)) {}
  // Of all shards: what has their names.
  absl::Status RemoveSet() const;
  absl::Status NameSet();
  absl::Status SyncDirectories() const;

  const std::vector<std::string> paths_;
  const std::vector<std::string> inputs_;  // files that they are made of
  std::vector<Shard> shards_;              // of each path
  int64_t records_ = 0;
  std::function<void(int64_t records)> counted_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_
