// The order of records of several files. Input: bytes for the length of the cycle, that of a block
// and the order of files, then a byte for each file: its records. The order must be that of a plain
// simulation of tf.data.Dataset.interleave.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/sources/interleaved_files.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

// One without records is refused.
class CountedFile : public SourceFile {
 public:
  explicit CountedFile(int64_t records) : records_(records) {}
  absl::StatusOr<bool> Read(SourceRecord* record) override {
    if (next_ == records_) return false;
    if (record != nullptr) record->origin.record = next_;
    ++next_;
    return true;
  }
  absl::Status CheckEnd() const override {
    return records_ > 0 ? absl::OkStatus() : absl::DataLossError("a file without records");
  }

 private:
  const int64_t records_;
  int64_t next_ = 0;
};

class CountedFiles : public InterleavedFiles {
 public:
  CountedFiles(std::vector<int64_t> records, const Order& order)
      : InterleavedFiles(std::vector<std::string>(records.size()), order),
        records_(std::move(records)) {}

 private:
  absl::StatusOr<std::unique_ptr<SourceFile>> OpenFile(size_t index) override {
    return std::make_unique<CountedFile>(records_[index]);
  }

  const std::vector<int64_t> records_;
};

using Place = std::pair<int32_t, int64_t>;  // file, record

// As long as there are records: each place of the cycle in turn takes a new file if it has none,
// and gives a block.
std::vector<Place> Simulated(const std::vector<int64_t>& records, int64_t cycle, int64_t block) {
  std::deque<int32_t> waiting;
  int64_t left = 0;
  for (int32_t file = 0; file < std::ssize(records); ++file) {
    waiting.push_back(file);
    left += records[file];
  }
  std::vector<int32_t> open(cycle, -1);
  std::vector<int64_t> given(records.size(), 0);
  std::vector<Place> order;
  for (int64_t turn = 0; left > 0; turn = (turn + 1) % cycle) {
    if (open[turn] < 0) {
      if (waiting.empty()) continue;
      open[turn] = waiting.front();
      waiting.pop_front();
    }
    const int32_t file = open[turn];
    for (int64_t i = 0; i < block; ++i) {
      if (given[file] == records[file]) {
        open[turn] = -1;
        break;
      }
      order.emplace_back(file, given[file]++);
      --left;
    }
  }
  return order;
}

}  // namespace

absl::Status FuzzInterleave(std::string_view bytes) {
  InterleavedFiles::Order order = {.cycle_length = TakeByte(&bytes) % 16 + 1,
                                   .block_length = TakeByte(&bytes) % 16 + 1};
  order.shuffle_files = TakeByte(&bytes) % 2 == 1;
  std::vector<int64_t> records;
  for (const char byte : bytes.substr(0, 64)) records.push_back(static_cast<uint8_t>(byte) % 40);
  if (records.empty()) return absl::DataLossError("no files");
  CountedFiles files(records, order);
  std::vector<Place> got;
  SourceRecord record;
  while (true) {
    ASSIGN_OR_RETURN(const bool found, files.Read(&record));
    if (!found) break;
    got.emplace_back(record.origin.file, record.origin.record);
  }
  std::vector<Place> want = Simulated(records, order.cycle_length, order.block_length);
  if (order.shuffle_files) {  // in another order
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
  }
  CHECK(got == want);
  return absl::OkStatus();
}

}  // namespace tpurun
