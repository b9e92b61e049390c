#include "data/filtered_items.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "runtime/base/status.h"

namespace tpurun {
namespace {

bool IsNotZero(proto::DataType dtype, std::span<const std::byte> value) {
  if (dtype == proto::FLOAT32) {
    float number = 0;
    std::memcpy(&number, value.data(), sizeof number);
    return number != 0;  // which -0 is not
  }
  return std::any_of(value.begin(), value.end(),
                     [](std::byte byte) { return byte != std::byte(); });
}

}  // namespace

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
                             std::string feature)
    : PassingItems(std::move(before)),
      records_(records),
      feature_(std::move(feature)),
      map_(records, std::move(map)) {}

absl::StatusOr<int64_t> FilteredItems::Next(std::span<Item> items) {
  int64_t count = 0;
  while (count < std::ssize(items)) {
    const std::span<Item> wanted = items.subspan(count);
    ASSIGN_OR_RETURN(const int64_t got, before().Next(wanted));
    kept_.assign(got, 0);  // and of rows that are skipped
    const auto test = [&](const RowMap::Block& block, const Table& rows) {
      const Column& column = rows.column(feature_);
      for (int64_t row = 0; row < block.count; ++row) {
        kept_[block.begin + row] = IsNotZero(column.type.dtype, column.BytesOf(row));
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
