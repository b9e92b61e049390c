// ExampleFiles: writes tf.Examples into TFRecord files, which get their names only when all files
// are complete. ListedFiles does it for examples that are known beforehand.
#ifndef TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_
#define TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/convert/shard_set.h"
#include "proto/example.pb.h"
#include "runtime/io/output_file.h"
#include "runtime/io/record_writer.h"

namespace tpurun {

class ExampleFiles {
 public:
  // See ShardSet::Create. Removes what unfinished ListedFiles of this prefix left, too.
  static absl::StatusOr<std::unique_ptr<ExampleFiles>> Create(
      const std::string& prefix, int shards, Compression compression,
      const std::vector<std::string>& inputs);

  // Record i goes to shard i % shards. Reading with num_parallel_reads = shards restores the order.
  absl::Status Write(const tensorflow::Example& example);
  // `counted` is called now and then with the number of records written so far. May be empty.
  void set_counted(std::function<void(int64_t records)> counted) { counted_ = std::move(counted); }
  // Completes the files and gives them their names. Without Commit the files are removed. DataLoss
  // if a file would have no records. See ShardSet::NameAll.
  absl::Status Commit();

  int64_t records() const { return records_; }
  const std::vector<std::string>& paths() const { return set_.paths(); }

 private:
  struct Shard {
    OutputFile* file = nullptr;  // owned by `records`
    std::unique_ptr<RecordWriter> records;
  };

  explicit ExampleFiles(ShardSet set) : set_(std::move(set)) {}

  const ShardSet set_;
  std::vector<Shard> shards_;
  int64_t records_ = 0;
  std::function<void(int64_t records)> counted_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_
