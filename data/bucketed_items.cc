#include "data/bucketed_items.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kRemedy[] = "lower train_batch_size, or give fewer bucket_boundaries";

}  // namespace

BucketedItems::BucketedItems(std::unique_ptr<ItemStream> before, Records* records, RowMapArgs map,
                             BucketArgs args)
    : before_(std::move(before)),
      records_(records),
      args_(std::move(args)),
      map_(records, std::move(map)),
      waiting_(args_.buckets.bucket_boundaries_size() + 1) {}

absl::Status BucketedItems::StartEpoch(int64_t epoch) {
  ReleaseAll();
  epoch_ = epoch;
  given_ = 0;
  return before_->StartEpoch(epoch);
}

absl::StatusOr<int64_t> BucketedItems::Next(std::span<Item> items) {
  TPURUN_DCHECK(std::ssize(items) == args_.batch_size);
  while (true) {
    if (drawn_.empty()) {
      ASSIGN_OR_RETURN(const bool any, Draw());
      if (any) continue;
      RETURN_IF_ERROR(PassEnds());
      return 0;
    }
    const auto [bucket, item] = drawn_.front();
    drawn_.pop_front();
    waiting_[bucket].push_back(item);
    if (std::ssize(waiting_[bucket]) < std::ssize(items)) continue;
    std::copy(waiting_[bucket].begin(), waiting_[bucket].end(), items.begin());
    waiting_[bucket].clear();
    *args_.bucket = bucket;
    given_ += std::ssize(items);
    return std::ssize(items);
  }
}

absl::StatusOr<bool> BucketedItems::Draw() {
  RETURN_IF_ERROR(CheckFits());
  std::vector<Item> items(args_.batch_size);
  ASSIGN_OR_RETURN(const int64_t got, before_->Next(std::span(items)));
  items.resize(got);
  RETURN_IF_ERROR(FindBuckets(items));
  return got > 0;
}

absl::Status BucketedItems::FindBuckets(const std::vector<Item>& items) {
  constexpr int kSkipped = -1;
  std::vector<int> buckets(items.size(), kSkipped);
  const auto find = [&](const RowMap::Block& block, const Table& rows) -> absl::Status {
    const Column& lengths = rows.column(args_.buckets.element_length());
    for (int64_t row = 0; row < block.count; ++row) {
      const int64_t index = block.begin + row;
      ASSIGN_OR_RETURN(buckets[index], BucketOf(lengths, row, items[index]));
    }
    return absl::OkStatus();
  };
  const absl::Status found = map_.Run(items, nullptr, find);
  if (!found.ok()) {
    records_->Release(items);
    return found;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (buckets[i] != kSkipped) {
      drawn_.push_back({buckets[i], items[i]});
    } else {
      records_->Release(std::span(items).subspan(i, 1));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> BucketedItems::BucketOf(const Column& lengths, int64_t row,
                                            const Item& item) const {
  TPURUN_DCHECK(lengths.type.dtype == proto::INT32 || lengths.type.dtype == proto::INT64);
  const int64_t length = lengths.type.dtype == proto::INT64 ? lengths.values<int64_t>()[row]
                                                            : lengths.values<int32_t>()[row];
  if (length < 0 || length > args_.longest) {
    return absl::DataLossError(absl::StrCat(
        records_->Where(records_->OriginOf(item)), ": ", Quote(args_.buckets.element_length()),
        " is ", length, ", want the length of a sequence, from 0 to ", args_.longest));
  }
  const auto& boundaries = args_.buckets.bucket_boundaries();
  return static_cast<int>(std::upper_bound(boundaries.begin(), boundaries.end(), length) -
                          boundaries.begin());
}

absl::Status BucketedItems::CheckFits() const {
  const auto held = static_cast<double>(records_->held_bytes());
  if (held <= static_cast<double>(args_.memory_bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      args_.where, ": the elements that wait in buckets do not fit in memory: they take ",
      BytesText(held), ", there is ", BytesText(args_.memory_bytes), "; ", kRemedy));
}

absl::Status BucketedItems::PassEnds() {
  int64_t most = 0;
  for (const std::vector<Item>& waiting : waiting_) most = std::max(most, std::ssize(waiting));
  ReleaseAll();
  if (given_ > 0 || most == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(args_.where, ": no bucket has the ", args_.batch_size,
                                          " elements of a batch, the largest has ", most, "; ",
                                          kRemedy,
                                          ", or put transform { repeat {} } before batch"));
}

void BucketedItems::ReleaseAll() {
  for (const Drawn& drawn : drawn_) records_->Release(std::span(&drawn.item, 1));
  drawn_.clear();
  for (std::vector<Item>& waiting : waiting_) {
    records_->Release(waiting);
    waiting.clear();
  }
}

// Within one pass of the records the items that wait are found again by giving given_ items; across
// passes they are written down, without their buckets: what is restored may have other lengths,
// boundaries or batches.
void BucketedItems::SavePosition(std::string* text) const {
  absl::StrAppend(text, " buckets ", epoch_, " ", given_);
  if (!crosses_epochs()) return;
  const MemoryUse use("the buckets", kRemedy);
  size_t items = drawn_.size();
  for (const std::vector<Item>& waiting : waiting_) items += waiting.size();
  absl::StrAppend(text, " ", items);
  for (const std::vector<Item>& waiting : waiting_) {
    for (const Item& item : waiting) records_->SaveItem(item, text);
  }
  for (const Drawn& drawn : drawn_) records_->SaveItem(drawn.item, text);
  before_->SavePosition(text);
}

absl::Status BucketedItems::RestorePosition(PositionReader& position) {
  ReleaseAll();
  RETURN_IF_ERROR(position.Name("buckets"));
  ASSIGN_OR_RETURN(epoch_, position.Number());
  ASSIGN_OR_RETURN(const int64_t given, position.Number());
  if (!crosses_epochs()) return GiveAgain(given);
  given_ = given;
  ASSIGN_OR_RETURN(const int64_t count, position.Number());
  std::vector<Item> items;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Item item, records_->RestoreItem(position));
    items.push_back(item);
  }
  const absl::Status held = records_->Hold(std::span(items));
  if (!held.ok()) {
    records_->Release(items);
    return held;
  }
  RETURN_IF_ERROR(FindBuckets(items));
  return before_->RestorePosition(position);
}

absl::Status BucketedItems::GiveAgain(int64_t count) {
  RETURN_IF_ERROR(StartEpoch(epoch_));
  std::vector<Item> items(args_.batch_size);
  while (given_ < count) {
    ASSIGN_OR_RETURN(const int64_t got, Next(std::span(items)));
    if (got == 0) break;
    records_->Release(items);
  }
  if (given_ == count) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the position to restore is after ", count, " elements of the pass, and batches of ",
      args_.batch_size, " give ", given_, ": were the files or train_batch_size changed?"));
}

}  // namespace tpurun
