// InterleavedFiles: a SourceReader of several files, in the order of tf.data.Dataset.interleave.
#ifndef TPURUN_DATA_SOURCES_INTERLEAVED_FILES_H_
#define TPURUN_DATA_SOURCES_INTERLEAVED_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/records.h"
#include "data/sources/read_ahead.h"
#include "data/sources/source_file.h"
#include "proto/input.pb.h"

namespace tpurun {

// cycle_length files are read in turn, block_length consecutive records of each. A file that has
// ended is replaced by the next one when its turn comes again. Several files are read ahead, by as
// many threads as there are files and CPUs for them.
class InterleavedFiles : public SourceReader {
 public:
  struct Order {
    int64_t cycle_length = 1;
    int64_t block_length = 1;
    bool shuffle_files = false;  // draw the order of the files by seed and pass
    uint64_t seed = 0;
    bool reads_ahead = false;  // even with one file in the cycle: its bytes are slow to make
  };

  InterleavedFiles(std::vector<std::string> files, const Order& order);

  absl::StatusOr<bool> Read(SourceRecord* record) override;
  absl::Status StartEpoch(int64_t epoch) override;
  bool order_varies() const override { return order_.shuffle_files; }
  // "record 3 of a.tfrecord (offset 1024)".
  std::string Where(const Origin& origin) const override;

 protected:
  const std::string& file(size_t index) const { return files_[index]; }

 private:
  // What is open at one place of the cycle.
  struct Place {
    int32_t index = 0;  // of files_
    std::unique_ptr<SourceFile> file;
  };

  virtual absl::StatusOr<std::unique_ptr<SourceFile>> OpenFile(size_t index) = 0;
  void OrderFiles(int64_t epoch);
  absl::Status OpenNextFile(Place* place);
  void NextTurn();

  const std::vector<std::string> files_;
  const Order order_;
  std::vector<int32_t> sequence_;  // the indices of the files in this pass
  size_t next_file_ = 0;           // of sequence_
  std::optional<ReadAhead> read_ahead_;
  std::vector<Place> cycle_;  // a null file where none is open
  size_t num_open_ = 0;
  size_t turn_ = 0;      // the place of the cycle that gives the next record
  int64_t in_turn_ = 0;  // records that it has given in this turn
};

// The order that a source's field `interleave` asks for.
InterleavedFiles::Order OrderOf(const proto::Interleave& interleave);
// Appended to the description of a source (SourceDef::describe). Empty without interleave.
std::string DescribeInterleave(const proto::Interleave& interleave);

}  // namespace tpurun

#endif  // TPURUN_DATA_SOURCES_INTERLEAVED_FILES_H_
