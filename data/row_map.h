// RowMap: applies row transforms to the rows of items, one block of rows after the other or several
// blocks at a time. The rows do not depend on the number of threads.
#ifndef TPURUN_DATA_ROW_MAP_H_
#define TPURUN_DATA_ROW_MAP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "data/bytes.h"
#include "data/elements.h"
#include "data/records.h"
#include "data/row_chain.h"
#include "data/table.h"
#include "data/thread_pool.h"

namespace tpurun {

class RowMap {
 public:
  // Consecutive items of a Run.
  struct Block {
    int64_t begin = 0;  // of its first item
    int64_t count = 0;  // of its items
    int thread = 0;     // that works on it
  };

  // `records` must outlive it.
  RowMap(Records* records, RowMapArgs args);

  int num_threads() const { return pool_.num_threads(); }
  bool has_transforms() const { return !steps_.transforms.empty(); }
  // The columns of the rows.
  const Schema& output() const { return steps_.output(); }
  // RowChain::NumbersOf of thread `thread`, for its next block.
  Bytes& NumbersOf(std::string_view column, int thread) {
    return chains_[thread].NumbersOf(column);
  }
  // For other work on the rows.
  ThreadPool& pool() { return pool_; }

  // Calls, for every block of the items, `before` (may be nullptr), loads and transforms its rows,
  // and calls `after` with them; the rows are valid until it returns. Calls for different blocks
  // may run at the same time. Returns the error of the first row that has one; blocks after its own
  // may be left out. With MapSettings::skipped, rows that a transform refuses are no error: `after`
  // is not called for them. Cancelled while MapSettings::cancelled is set.
  absl::Status Run(std::span<const Item> items, const std::function<void(const Block&)>& before,
                   const std::function<absl::Status(const Block&, const Table& rows)>& after);
  // The places, ascending, of the items of the last Run whose rows a transform refused.
  const std::vector<int64_t>& skipped() const { return skipped_; }
  void SetCancelled(bool cancelled) { *settings_.cancelled = cancelled; }

 private:
  // The functions that Run calls around the rows of a block.
  struct Around {
    const std::function<void(const Block&)>& before;
    const std::function<absl::Status(const Block&, const Table& rows)>& after;
  };

  // A row that a transform refused: its place among the items of a Run.
  struct Refused {
    int64_t item = 0;
    absl::Status error;
  };

  // Loads and transforms the rows of a block. `items` are those of the block.
  absl::Status RunBlock(const Block& block, std::span<const Item> items, const Around& around);
  // The same. If rows are refused, row by row: adds them if they can be skipped, else returns the
  // error of the first.
  absl::Status RunBlockOrSkip(const Block& block, std::span<const Item> items, const Around& around,
                              std::vector<Refused>* refused);
  // The items from `first` on, in blocks of `rows` rows: one after the other, or several at a time.
  absl::Status RunInTurn(int64_t first, int64_t rows, std::span<const Item> items,
                         const Around& around, std::vector<Refused>* refused);
  absl::Status RunTogether(int64_t first, int64_t rows, std::span<const Item> items,
                           const Around& around, std::vector<Refused>* refused);
  absl::Status RunAll(std::span<const Item> items, const Around& around,
                      std::vector<Refused>* refused);
  // Tells MapSettings::skipped of the rows of a Run of `count` items.
  absl::Status CountSkipped(const std::vector<Refused>& refused, int64_t count);
  void AddTimes(int64_t rows);

  const RowSteps steps_;
  const MapSettings settings_;
  const std::shared_ptr<InputTimes> times_;  // as in RowMapArgs, with the stages
  const size_t source_stage_;
  const std::vector<size_t> stages_;
  const bool looks_only_;
  ThreadPool pool_;
  std::vector<RowChain> chains_;  // [thread]
  // A row was accepted: chains_[0] knows what the first row decides, and others can take its state.
  bool has_first_ = false;
  std::vector<int64_t> skipped_;
  double seconds_per_row_ = 0;  // of one thread, in the last Run; 0: not known
};

}  // namespace tpurun

#endif  // TPURUN_DATA_ROW_MAP_H_
