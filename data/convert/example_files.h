// tf.Examples into TFRecord files that appear under their names only when all are complete.
#ifndef TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_
#define TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/example.pb.h"
#include "runtime/io/record_writer.h"

namespace tpurun {

class ExampleFiles {
 public:
  // One shard is the file PREFIX, several are PREFIX-00000-of-00002 and so on. Files of the same
  // prefix and another number of shards are InvalidArgument: PREFIX* would read them too; so is one
  // of the files `inputs`, which are read meanwhile.
  static absl::StatusOr<std::unique_ptr<ExampleFiles>> Create(
      const std::string& prefix, int shards, Compression compression,
      const std::vector<std::string>& inputs);
  // The names that Create gives the files until Commit.
  static std::vector<std::string> TemporaryPaths(const std::string& prefix, int shards);
  // Removes what was not committed.
  ~ExampleFiles();

  // Record i goes to shard i % shards: read with num_parallel_reads = shards they come in this
  // order again.
  absl::Status Write(const tensorflow::Example& example);
  // Makes the files complete and gives them their names. DataLoss when one would have no records.
  absl::Status Commit();

  int64_t records() const { return records_; }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  ExampleFiles(std::vector<std::string> paths, std::vector<std::string> inputs)
      : paths_(std::move(paths)), inputs_(std::move(inputs)) {}

  const std::vector<std::string> paths_;
  const std::vector<std::string> inputs_;               // what they are made of
  std::vector<std::string> files_;                      // that they are, symbolic links followed
  std::vector<std::unique_ptr<RecordWriter>> writers_;  // of each path; under its temporary name
  int64_t records_ = 0;
  size_t committed_ = 0;  // the first of files_ that still has its temporary name
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_EXAMPLE_FILES_H_
