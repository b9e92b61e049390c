#include "data/filtered_items.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/status.h"

namespace tpurun {

absl::StatusOr<bool> IsNotZero(const Column& feature, int64_t row, const RowId&) {
  if (feature.type.dtype == proto::FLOAT32) {
    return feature.values<float>()[row] != 0;  // which -0 is not
  }
  const std::span<const std::byte> value = feature.BytesOf(row);
  return std::any_of(value.begin(), value.end(),
                     [](std::byte byte) { return byte != std::byte(); });
}

std::vector<RowTransform> TransformsOf(const std::string& column,
                                       const std::vector<RowTransform>& transforms) {
  std::set<std::string> wanted = {column};
  std::vector<RowTransform> found;  // from the last to the first
  for (auto transform = transforms.rbegin(); transform != transforms.rend(); ++transform) {
    const auto is_wanted = [&](const std::string& name) { return wanted.count(name) > 0; };
    if (std::none_of(transform->makes.begin(), transform->makes.end(), is_wanted)) continue;
    wanted.insert(transform->reads.begin(), transform->reads.end());
    found.push_back(*transform);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

FilteredItems::FilteredItems(std::unique_ptr<ItemStream> before, Records* records, RowMapArgs map,
                             std::string feature, KeepRow keep)
    : PassingItems(std::move(before)),
      records_(records),
      feature_(std::move(feature)),
      keep_(std::move(keep)),
      map_(records, std::move(map)) {}

absl::StatusOr<int64_t> FilteredItems::Next(std::span<Item> items) {
  int64_t count = 0;
  while (count < std::ssize(items)) {
    const std::span<Item> wanted = items.subspan(count);
    ASSIGN_OR_RETURN(const int64_t got, before().Next(wanted));
    kept_.assign(got, 0);  // and of rows that are skipped
    const auto test = [&](const RowMap::Block& block, const Table& rows) -> absl::Status {
      const Column& column = rows.column(feature_);
      for (int64_t row = 0; row < block.count; ++row) {
        const Item& item = wanted[block.begin + row];
        const absl::StatusOr<bool> kept = keep_(column, row, records_->IdOf(item));
        if (!kept.ok()) {
          return Annotate(kept.status(), records_->Where(records_->OriginOf(item)));
        }
        kept_[block.begin + row] = *kept;
      }
      return absl::OkStatus();
    };
    const absl::Status tested = map_.Run(wanted.first(got), nullptr, test);
    if (!tested.ok()) {
      records_->Release(items.first(count + got));
      return tested;
    }
    int64_t stay = 0;
    for (int64_t i = 0; i < got; ++i) {
      if (kept_[i] != 0) {
        wanted[stay++] = wanted[i];
      } else {
        records_->Release(wanted.subspan(i, 1));
      }
    }
    count += stay;
    if (got < std::ssize(wanted)) break;
  }
  return count;
}

}  // namespace tpurun
