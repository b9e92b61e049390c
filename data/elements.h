// Elements: the rows at one place of a pipeline.
#ifndef TPURUN_DATA_ELEMENTS_H_
#define TPURUN_DATA_ELEMENTS_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "data/item_stream.h"
#include "data/records.h"
#include "data/skipped_rows.h"
#include "data/transforms/transform_list.h"
#include "runtime/spec/input_times.h"

namespace tpurun {

// How the rows of an input are mapped. All maps of the input share it.
struct MapSettings {
  int num_threads = 1;  // the most that work at a time
  // One thread works where several would not be worth waking. If false, all always work.
  bool autotune = true;
  // While it is set, every RowMap::Run ends as soon as its blocks in progress have ended. Any
  // thread may set it.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  // Receives the rows that a transform refuses. nullptr: such a row is an error.
  std::shared_ptr<SkippedRows> skipped = nullptr;
};

struct RowMapArgs {
  std::vector<RowTransform> transforms;
  MapSettings settings;
  // Receives the time of the source and of each transform, as the sum over the threads. nullptr:
  // not measured.
  std::shared_ptr<InputTimes> times = nullptr;
  size_t source_stage = 0;
  std::vector<size_t> stages = {};  // [transform]
  // The rows are only looked at, and other transforms follow: a row that none has refused yet does
  // not end a row of skipped ones.
  bool looks_only = false;
};

// Items in an order, and the row transforms that each item's row passes through. A row transform
// makes one row of one row. It is therefore applied only after an item has passed all item streams,
// so an element that is dropped is never decoded.
struct Elements {
  std::unique_ptr<Records> records;
  std::unique_ptr<ItemStream> items;
  RowMapArgs map;

  // The columns of the rows after the transforms.
  const Schema& output() const {
    return map.transforms.empty() ? records->schema() : map.transforms.back().output;
  }
};

}  // namespace tpurun

#endif  // TPURUN_DATA_ELEMENTS_H_
