// take, skip, shard, and the whole batches of a repeat after the batch: some of the items, in
// order.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

int64_t CountOrAll(const proto::Count& count) { return count.count() == -1 ? kAll : count.count(); }

// Ascending.
std::vector<int64_t> ShardIndices(const proto::Shard& shard) {
  std::vector<int64_t> indices(shard.index().begin(), shard.index().end());
  if (indices.empty()) indices = {0};
  std::sort(indices.begin(), indices.end());
  return indices;
}

// Which items of a pass: of those from `begin` to before `end` each one whose distance from `begin`
// is one of `offsets` modulo `stride`. The offsets ascend.
struct Selection {
  int64_t begin = 0;
  int64_t end = kAll;
  int64_t stride = 1;
  std::vector<int64_t> offsets = {0};
};

// take, skip and shard are its cases.
class SelectedItems : public ItemStream {
 public:
  SelectedItems(ItemTransformArgs args, Selection selection)
      : before_(std::move(args.before)), records_(args.records), selection_(std::move(selection)) {}

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
      const int64_t run = selection_.stride == 1
                              ? std::min<int64_t>(items.size() - count, selection_.end - seen_)
                              : 1;
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
    const auto& [begin, end, stride, offsets] = selection_;
    const int64_t offset = std::max<int64_t>(seen_ - begin, 0) % stride;
    const auto next = std::lower_bound(offsets.begin(), offsets.end(), offset);
    int64_t skip = next == offsets.end() ? stride - offset + offsets[0] : *next - offset;
    if (seen_ < begin) skip += begin - seen_;
    if (skip >= end - seen_) return false;
    ASSIGN_OR_RETURN(const int64_t dropped, DropItems(*before_, *records_, skip));
    seen_ += dropped;
    return dropped == skip;
  }

  const std::unique_ptr<ItemStream> before_;
  Records* const records_;
  const Selection selection_;
  int64_t seen_ = 0;  // items taken from before_ in this pass, given or dropped
};

class WholeBatches : public PassingItems {
 public:
  WholeBatches(ItemTransformArgs args, int64_t size)
      : PassingItems(std::move(args.before)), records_(args.records), size_(size) {}

  absl::StatusOr<int64_t> Next(std::span<Item> items) override {
    // Whoever asks, Batches or a repeat before it, asks for a whole batch.
    ASSIGN_OR_RETURN(const int64_t got, before().Next(items));
    const int64_t whole = got / size_ * size_;
    records_->Release(items.subspan(whole, got - whole));
    return whole;
  }

 private:
  Records* const records_;
  const int64_t size_;
};

}  // namespace

// take { count }: the first elements.
std::unique_ptr<ItemStream> MakeTake(const proto::Transform& transform, ItemTransformArgs args) {
  return std::make_unique<SelectedItems>(std::move(args),
                                         Selection{.end = CountOrAll(transform.take())});
}

int64_t CountTake(const proto::Transform& transform, int64_t before) {
  return std::min(before, CountOrAll(transform.take()));
}

// skip { count }: all but the first elements.
std::unique_ptr<ItemStream> MakeSkip(const proto::Transform& transform, ItemTransformArgs args) {
  return std::make_unique<SelectedItems>(std::move(args),
                                         Selection{.begin = CountOrAll(transform.skip())});
}

int64_t CountSkip(const proto::Transform& transform, int64_t before) {
  return before - std::min(before, CountOrAll(transform.skip()));
}

// shard { num_shards index }: of each num_shards elements those with the indices.
void CheckShard(const proto::Transform& transform, ConfigErrors& errors) {
  const proto::Shard& shard = transform.shard();
  if (shard.num_shards() < 1) return;  // its rule tells of it
  for (int i = 0; i < shard.index_size(); ++i) {
    const std::string path = ElementPath("index", i);
    const int64_t index = shard.index(i);
    if (index < 0 || index >= shard.num_shards()) {
      errors.Add(path,
                 absl::StrCat("index must be in 0..", shard.num_shards() - 1, ", got ", index));
    } else if (std::find(shard.index().begin(), shard.index().begin() + i, index) !=
               shard.index().begin() + i) {
      errors.Add(path, absl::StrCat("index ", index, " is given twice"));
    }
  }
}

std::unique_ptr<ItemStream> MakeShard(const proto::Transform& transform, ItemTransformArgs args) {
  const proto::Shard& shard = transform.shard();
  return std::make_unique<SelectedItems>(
      std::move(args), Selection{.stride = shard.num_shards(), .offsets = ShardIndices(shard)});
}

int64_t CountShard(const proto::Transform& transform, int64_t before) {
  const proto::Shard& shard = transform.shard();
  const std::vector<int64_t> indices = ShardIndices(shard);
  const auto of_the_last =
      std::lower_bound(indices.begin(), indices.end(), before % shard.num_shards());
  return before / shard.num_shards() * std::ssize(indices) + (of_the_last - indices.begin());
}

std::unique_ptr<ItemStream> MakeWholeBatches(int64_t size, ItemTransformArgs args) {
  return std::make_unique<WholeBatches>(std::move(args), size);
}

}  // namespace tpurun
