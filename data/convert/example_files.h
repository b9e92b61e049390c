// ExampleFiles: writes tf.Examples into TFRecord files, which get their names only when all files
// are complete.
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
  // One shard is the file PREFIX; several shards are PREFIX-00000-of-00002 and so on.
  // InvalidArgument if files of the same prefix and another number of shards exist, because PREFIX*
  // would read them too. InvalidArgument if an output is one of the files `inputs`, which are read
  // during the conversion. Removes temporary files of this prefix, of any number of shards, that
  // killed processes left.
  static absl::StatusOr<std::unique_ptr<ExampleFiles>> Create(
      const std::string& prefix, int shards, Compression compression,
      const std::vector<std::string>& inputs);
  // The temporary names that Create gives the files until Commit.
  static std::vector<std::string> TemporaryPaths(const std::string& prefix, int shards);

  // Record i goes to shard i % shards. Reading with num_parallel_reads = shards restores the order.
  absl::Status Write(const tensorflow::Example& example);
  // `counted` is called now and then with the number of records written so far. May be empty.
  void set_counted(std::function<void(int64_t records)> counted) { counted_ = std::move(counted); }
  // Completes the files and gives them their names. Without Commit the files are removed. DataLoss
  // if a file would have no records. Files of two runs are never present together, even after a
  // power failure: an older set is removed durably before the first file of this set gets its name.
  // An interrupted Commit leaves at most some files of one set; the number of shards in their names
  // shows that some are missing. A single file replaces the older file atomically.
  absl::Status Commit();

  int64_t records() const { return records_; }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  struct Shard {
    OutputFile* file = nullptr;  // owned by `records`
    std::unique_ptr<RecordWriter> records;
  };

  ExampleFiles(std::vector<std::string> paths, std::vector<std::string> inputs)
      : paths_(std::move(paths)), inputs_(std::move(inputs)) {}
  // RemoveSet removes the files that have the names of the shards, and NameSet gives the names.
  absl::Status RemoveSet() const;
  absl::Status NameSet();
  absl::Status SyncDirectories() const;

  const std::vector<std::string> paths_;
  const std::vector<std::string> inputs_;  // the files that the examples are read from
  std::vector<Shard> shards_;              // one per path
  int64_t records_ = 0;
  std::function<void(int64_t records)> counted_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_
