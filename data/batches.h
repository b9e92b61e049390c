// From elements to batches: the rows of an input at one place of its pipeline, the cache that keeps
// them, and the BatchSource at the end.
#ifndef TPURUN_DATA_BATCHES_H_
#define TPURUN_DATA_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/item_stream.h"
#include "data/records.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Elements: items in an order, and what is done to the row of each on its way out. Row transforms
// make one row of one row, so they wait until an item has passed all streams, and an element that
// is dropped is never decoded.
struct Elements {
  std::unique_ptr<Records> records;
  std::unique_ptr<ItemStream> items;
  std::vector<RowTransform> transforms;

  // The transformed rows of the items, good until the next call.
  absl::StatusOr<const Table*> Load(std::span<const Item> items);
  // Where the next Load makes the numbers of a column of its result: memory that is lent to it
  // holds them. From the first call of either on, the transforms stay as they are.
  Bytes& NumbersOf(std::string_view column);

  // Of Load: the rows before and after each transform, and which columns each passes on, by their
  // indices before and after it.
  std::vector<Table> tables;
  std::vector<std::vector<std::pair<int, int>>> passed;

 private:
  void MakeTables();
};

// Reads all elements into memory, keeping those columns; the result gives them in the same order.
// Ends `elements`. ResourceExhausted, at the place `where`, beyond `memory_bytes`.
absl::StatusOr<Elements> CacheElements(Elements elements, const Schema& keep,
                                       const std::string& where, int64_t memory_bytes);

struct BatchesArgs {
  std::string signature;              // names the input in positions
  std::vector<FeatureSpec> features;  // columns of the last transform, each once, with their types
  std::vector<std::string> forward_features;  // columns of the last transform
  int64_t batch_size = 0;
  int64_t batches_per_step = 1;
  std::string batch_size_name;  // "train_batch_size"
  std::string batch_title;      // "train_batch_size of 16", "batch of 2 (train_batch_size / 8)"
  std::string where;            // of the input, "run.textproto:29:3"
  std::string empty;            // the message when it has no elements
  OnEmpty on_empty;             // of an input without one batch
  bool drop_remainder = false;
};

std::unique_ptr<BatchSource> MakeBatches(Elements elements, BatchesArgs args);

}  // namespace tpurun

#endif  // TPURUN_DATA_BATCHES_H_
