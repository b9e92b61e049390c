// RowMap: applies row transforms to the rows of items, one block of rows after the other or several
// blocks at a time. The rows do not depend on the number of threads.
#ifndef TPURUN_DATA_ROW_MAP_H_
#define TPURUN_DATA_ROW_MAP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/bytes.h"
#include "data/records.h"
#include "data/table.h"
#include "data/thread_pool.h"
#include "data/transforms/transform_list.h"
#include "runtime/spec/input_times.h"

namespace tpurun {

struct RowMapArgs {
  std::vector<RowTransform> transforms;
  int num_threads = 1;  // the most that work at a time
  // One thread works where several would not be worth waking. If false, all always work.
  bool autotune = true;
  // While it is set, every Run of the maps that share it ends as soon as its blocks in progress
  // have ended. Any thread may set it.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  // Receives the time of the source and of each transform, as the sum over the threads. nullptr:
  // not measured.
  std::shared_ptr<InputTimes> times = nullptr;
  size_t source_stage = 0;
  std::vector<size_t> stages = {};  // [transform]
};

class RowMap {
 public:
  // Consecutive items of a Run.
  struct Block {
    int64_t begin = 0;  // of its first item
    int64_t count = 0;  // of its items
    int thread = 0;     // that works on it
  };

  // `records` must outlive it.
  RowMap(const Records* records, RowMapArgs args);

  int num_threads() const { return pool_.num_threads(); }
  bool has_transforms() const { return !args_.transforms.empty(); }
  // The columns of the rows.
  const Schema& output() const { return output_; }
  // The buffer that thread `thread` writes the numbers of a column of its next block to. If memory
  // was lent to the buffer, the numbers are written there.
  Bytes& NumbersOf(std::string_view column, int thread);

  // Calls, for every block of the items, `before` (may be nullptr), loads and transforms its rows,
  // and calls `after` with them; the rows are valid until it returns. Calls for different blocks
  // may run at the same time. Returns the error of the first block that has one; blocks after it
  // may be left out. Cancelled while RowMapArgs::cancelled is set.
  absl::Status Run(std::span<const Item> items, const std::function<void(const Block&)>& before,
                   const std::function<absl::Status(const Block&, const Table& rows)>& after);
  void SetCancelled(bool cancelled) { *args_.cancelled = cancelled; }

 private:
  // What one thread works with.
  struct Lane {
    std::vector<RowTransform::Apply> apply;  // of each transform
    std::vector<Table> tables;               // the rows before the first transform and after each
    std::vector<double> seconds;             // of the source and of each transform
    std::vector<RowId> ids;
  };
  // The functions that Run calls around the rows of a block.
  struct Around {
    const std::function<void(const Block&)>& before;
    const std::function<absl::Status(const Block&, const Table& rows)>& after;
  };

  // Loads and transforms the rows of a block. `items` are those of the block.
  absl::Status RunBlock(const Block& block, std::span<const Item> items, const Around& around);
  // The items from `first` on, in blocks of `rows` rows: one after the other, or several at a time.
  absl::Status RunInTurn(int64_t first, int64_t rows, std::span<const Item> items,
                         const Around& around);
  absl::Status RunTogether(int64_t first, int64_t rows, std::span<const Item> items,
                           const Around& around);
  void AddTimes(int64_t rows);

  const Records* const records_;
  const RowMapArgs args_;
  Schema output_;
  // The columns that each transform passes on, as {index before, index after}: unchanged, and those
  // that it changes in place.
  std::vector<std::vector<std::pair<int, int>>> passed_, changed_;
  int64_t most_rows_ = 1;   // of a block
  bool is_random_ = false;  // a transform wants the identities of the rows
  ThreadPool pool_;
  std::vector<Lane> lanes_;     // [thread]
  double seconds_per_row_ = 0;  // of one thread, in the last Run; 0: not known
};

}  // namespace tpurun

#endif  // TPURUN_DATA_ROW_MAP_H_
