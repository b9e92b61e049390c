// FilteredItems: the items whose rows stay, by the value of a feature.
#ifndef TPURUN_DATA_FILTERED_ITEMS_H_
#define TPURUN_DATA_FILTERED_ITEMS_H_

#include <memory>
#include <string>
#include <vector>

#include "data/elements.h"
#include "data/item_stream.h"
#include "data/records.h"
#include "data/row_map.h"
#include "data/transforms/transform_list.h"

namespace tpurun {

// Of the row transforms, those that the column is made by, in order.
std::vector<RowTransform> TransformsOf(const std::string& column,
                                       const std::vector<RowTransform>& transforms);

// A row stays if its feature, a scalar of CheckFilter's types, is not 0.
absl::StatusOr<bool> IsNotZero(const Column& feature, int64_t row, const RowId& id);

// None of the items before is drawn ahead.
class FilteredItems : public PassingItems {
 public:
  // `records` must outlive it. `map` makes the rows that are tested, with a column `feature`.
  // Several threads may call `keep` at the same time.
  FilteredItems(std::unique_ptr<ItemStream> before, Records* records, RowMapArgs map,
                std::string feature, KeepRow keep);

  absl::StatusOr<int64_t> Next(std::span<Item> items) override;

 private:
  Records* const records_;
  const std::string feature_;
  const KeepRow keep_;
  RowMap map_;
  std::vector<char> kept_;  // of each item of a Next: its row stays
};

}  // namespace tpurun

#endif  // TPURUN_DATA_FILTERED_ITEMS_H_
