// take, skip, shard, and the whole batches of a repeat after the batch: some of the items, in
// order.
#include <algorithm>
#include <limits>
#include <utility>

#include "data/at_field.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

absl::Status CheckCount(const proto::Count& count) {
  if (count.count() >= -1) return absl::OkStatus();
  return AtField(absl::InvalidArgumentError(
                     absl::StrCat("count must be >= 0, or -1 for all, got ", count.count())),
                 "count");
}

int64_t CountOrAll(const proto::Count& count) { return count.count() == -1 ? kAll : count.count(); }

// Items begin_, begin_ + stride_, ... before end_ of each pass: take, skip and shard are its cases.
class SelectedItems : public ItemStream {
 public:
  SelectedItems(ItemTransformArgs args, int64_t begin, int64_t end, int64_t stride)
      : before_(std::move(args.before)),
        records_(args.records),
        begin_(begin),
        end_(end),
        stride_(stride) {}

  absl::Status StartEpoch(int64_t epoch) override {
    seen_ = 0;
    return before_->StartEpoch(epoch);
  }

  absl::StatusOr<int64_t> Next(std::span<Item> items) override {
    int64_t count = 0;
    while (count < static_cast<int64_t>(items.size())) {
      ASSIGN_OR_RETURN(const bool more, SkipToNext());
      if (!more) break;
      // A run of adjacent items at once, else one by one.
      const int64_t run = stride_ == 1 ? std::min<int64_t>(items.size() - count, end_ - seen_) : 1;
      ASSIGN_OR_RETURN(const int64_t got, before_->Next(items.subspan(count, run)));
      seen_ += got;
      count += got;
      if (got < run) break;
    }
    return count;
  }

  void SavePosition(std::string* text) const override {
    absl::StrAppend(text, " select ", seen_);
    before_->SavePosition(text);
  }

  absl::Status RestorePosition(PositionReader& position) override {
    RETURN_IF_ERROR(position.Name("select"));
    ASSIGN_OR_RETURN(seen_, position.Number());
    return before_->RestorePosition(position);
  }

  bool crosses_epochs() const override { return before_->crosses_epochs(); }

 private:
  // Drops what lies before the next item to give; false when there is none.
  absl::StatusOr<bool> SkipToNext() {
    const int64_t past = seen_ - begin_;
    const int64_t skip = past <= 0 ? -past : (stride_ - past % stride_) % stride_;
    if (skip >= end_ - seen_) return false;
    ASSIGN_OR_RETURN(const int64_t dropped, DropItems(*before_, *records_, skip));
    seen_ += dropped;
    return dropped == skip;
  }

  const std::unique_ptr<ItemStream> before_;
  Records* const records_;
  const int64_t begin_;
  const int64_t end_;
  const int64_t stride_;
  int64_t seen_ = 0;  // items taken from before_ in this pass, given or dropped
};

class WholeBatches : public ItemStream {
 public:
  WholeBatches(ItemTransformArgs args, int64_t size)
      : before_(std::move(args.before)), records_(args.records), size_(size) {}

  absl::Status StartEpoch(int64_t epoch) override { return before_->StartEpoch(epoch); }

  absl::StatusOr<int64_t> Next(std::span<Item> items) override {
    // Whoever asks, Batches or a repeat before it, asks for a whole batch.
    ASSIGN_OR_RETURN(const int64_t got, before_->Next(items));
    const int64_t whole = got / size_ * size_;
    records_->Release(items.subspan(whole, got - whole));
    return whole;
  }

  void SavePosition(std::string* text) const override { before_->SavePosition(text); }
  absl::Status RestorePosition(PositionReader& position) override {
    return before_->RestorePosition(position);
  }
  bool crosses_epochs() const override { return before_->crosses_epochs(); }

 private:
  const std::unique_ptr<ItemStream> before_;
  Records* const records_;
  const int64_t size_;
};

}  // namespace

// take { count }: the first elements.
absl::Status CheckTake(const proto::Transform& transform) { return CheckCount(transform.take()); }

std::unique_ptr<ItemStream> MakeTake(const proto::Transform& transform, ItemTransformArgs args) {
  return std::make_unique<SelectedItems>(std::move(args), 0, CountOrAll(transform.take()), 1);
}

int64_t CountTake(const proto::Transform& transform, int64_t before) {
  return std::min(before, CountOrAll(transform.take()));
}

// skip { count }: all but the first elements.
absl::Status CheckSkip(const proto::Transform& transform) { return CheckCount(transform.skip()); }

std::unique_ptr<ItemStream> MakeSkip(const proto::Transform& transform, ItemTransformArgs args) {
  return std::make_unique<SelectedItems>(std::move(args), CountOrAll(transform.skip()), kAll, 1);
}

int64_t CountSkip(const proto::Transform& transform, int64_t before) {
  return before - std::min(before, CountOrAll(transform.skip()));
}

// shard { num_shards index }: elements index, index + num_shards, ...
absl::Status CheckShard(const proto::Transform& transform) {
  const proto::Shard& shard = transform.shard();
  if (shard.num_shards() < 1) {
    return AtField(absl::InvalidArgumentError(
                       absl::StrCat("num_shards must be > 0, got ", shard.num_shards())),
                   "num_shards");
  }
  if (shard.index() < 0 || shard.index() >= shard.num_shards()) {
    return AtField(absl::InvalidArgumentError(absl::StrCat(
                       "index must be in 0..", shard.num_shards() - 1, ", got ", shard.index())),
                   "index");
  }
  return absl::OkStatus();
}

std::unique_ptr<ItemStream> MakeShard(const proto::Transform& transform, ItemTransformArgs args) {
  return std::make_unique<SelectedItems>(std::move(args), transform.shard().index(), kAll,
                                         transform.shard().num_shards());
}

int64_t CountShard(const proto::Transform& transform, int64_t before) {
  const proto::Shard& shard = transform.shard();
  if (before <= shard.index()) return 0;
  return (before - shard.index() - 1) / shard.num_shards() + 1;
}

std::unique_ptr<ItemStream> MakeWholeBatches(int64_t size, ItemTransformArgs args) {
  return std::make_unique<WholeBatches>(std::move(args), size);
}

}  // namespace tpurun
