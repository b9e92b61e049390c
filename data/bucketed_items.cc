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
  gave_ = false;
  return before_->StartEpoch(epoch);
}

absl::StatusOr<int64_t> BucketedItems::Next(std::span<Item> items) {
  TPURUN_DCHECK(std::ssize(items) == args_.batch_size);
  // A position of larger batches may have left more than one here.
  for (size_t bucket = 0; bucket < waiting_.size(); ++bucket) {
    if (std::ssize(waiting_[bucket]) >= args_.batch_size) {
      return Give(static_cast<int>(bucket), items);
    }
  }
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
    if (std::ssize(waiting_[bucket]) == args_.batch_size) return Give(bucket, items);
  }
}

int64_t BucketedItems::Give(int bucket, std::span<Item> items) {
  std::vector<Item>& waiting = waiting_[bucket];
  std::copy_n(waiting.begin(), items.size(), items.begin());
  waiting.erase(waiting.begin(), waiting.begin() + std::ssize(items));
  *args_.bucket = bucket;
  gave_ = true;
  return std::ssize(items);
}

absl::StatusOr<bool> BucketedItems::Draw() {
  RETURN_IF_ERROR(CheckFits());
  std::vector<Item> items(args_.batch_size);
  ASSIGN_OR_RETURN(const int64_t got, before_->Next(std::span(items)));
  items.resize(got);
  std::vector<int> buckets(got, -1);
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
  for (int64_t i = 0; i < got; ++i) {
    if (buckets[i] >= 0) {
      drawn_.push_back({buckets[i], items[i]});
    } else {
      records_->Release(std::span(items).subspan(i, 1));
    }
  }
  return got > 0;
}

absl::StatusOr<int> BucketedItems::BucketOf(const Column& lengths, int64_t row,
                                            const Item& item) const {
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
  if (gave_ || most == 0) return absl::OkStatus();
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

void BucketedItems::SavePosition(std::string* text) const {
  const MemoryUse use("the buckets", kRemedy);
  absl::StrAppend(text, " buckets ", gave_ ? 1 : 0, " ", drawn_.size());
  for (const Drawn& drawn : drawn_) {
    absl::StrAppend(text, " ", drawn.bucket);
    records_->SaveItem(drawn.item, text);
  }
  for (const std::vector<Item>& waiting : waiting_) {
    absl::StrAppend(text, " ", waiting.size());
    for (const Item& item : waiting) records_->SaveItem(item, text);
  }
  before_->SavePosition(text);
}

absl::Status BucketedItems::RestorePosition(PositionReader& position) {
  ReleaseAll();
  RETURN_IF_ERROR(position.Name("buckets"));
  ASSIGN_OR_RETURN(const int64_t gave, position.Number());
  gave_ = gave != 0;
  std::vector<Item> items;   // all of them
  std::vector<int> buckets;  // of those of drawn_, which are the first
  ASSIGN_OR_RETURN(const int64_t drawn, position.Number());
  for (int64_t i = 0; i < drawn; ++i) {
    ASSIGN_OR_RETURN(const int64_t bucket, position.Number());
    if (bucket >= std::ssize(waiting_)) {
      return absl::DataLossError(
          absl::StrCat("damaged input position: bucket ", bucket, " of ", waiting_.size()));
    }
    buckets.push_back(static_cast<int>(bucket));
    ASSIGN_OR_RETURN(const Item item, records_->RestoreItem(position));
    items.push_back(item);
  }
  std::vector<int64_t> sizes;  // of waiting_
  for (size_t bucket = 0; bucket < waiting_.size(); ++bucket) {
    ASSIGN_OR_RETURN(const int64_t size, position.Number());
    sizes.push_back(size);
    for (int64_t i = 0; i < size; ++i) {
      ASSIGN_OR_RETURN(const Item item, records_->RestoreItem(position));
      items.push_back(item);
    }
  }
  const absl::Status held = records_->Hold(std::span(items));
  auto item = items.begin();
  for (const int bucket : buckets) drawn_.push_back({bucket, *item++});
  for (size_t bucket = 0; bucket < waiting_.size(); ++bucket) {
    waiting_[bucket].assign(item, item + sizes[bucket]);
    item += sizes[bucket];
  }
  RETURN_IF_ERROR(held);
  return before_->RestorePosition(position);
}

}  // namespace tpurun
