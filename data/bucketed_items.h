// BucketedItems: batches of items whose sequences have similar lengths.
#ifndef TPURUN_DATA_BUCKETED_ITEMS_H_
#define TPURUN_DATA_BUCKETED_ITEMS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/elements.h"
#include "data/item_stream.h"
#include "data/records.h"
#include "data/row_map.h"
#include "proto/input.pb.h"

namespace tpurun {

struct BucketArgs {
  proto::BucketBySequenceLength buckets;
  int64_t longest = 0;  // length of the sequences of the last bucket
  int64_t batch_size = 0;
  std::string where;  // the place of the batch
  int64_t memory_bytes = 0;
  // Receives the bucket of the last batch, from 0.
  std::shared_ptr<int> bucket;
};

// As tf.data's bucket_by_sequence_length: each item waits in the bucket of its length, and a bucket
// that has the items of a batch gives them. Those that wait at the end of a pass are dropped.
class BucketedItems : public ItemStream {
 public:
  // `records` must outlive it. `map` makes rows with the column buckets.element_length.
  BucketedItems(std::unique_ptr<ItemStream> before, Records* records, RowMapArgs map,
                BucketArgs args);

  absl::Status StartEpoch(int64_t epoch) override;
  // `items` has the size of a batch. Gives a whole batch, or nothing.
  absl::StatusOr<int64_t> Next(std::span<Item> items) override;
  void SavePosition(std::string* text) const override;
  absl::Status RestorePosition(PositionReader& position) override;
  bool crosses_epochs() const override { return before_->crosses_epochs(); }

 private:
  struct Drawn {
    int bucket = 0;
    Item item;
  };

  // Draws as many items as a batch has. False at the end of the pass.
  absl::StatusOr<bool> Draw();
  // Appends items to drawn_ with their buckets, but releases those whose rows are skipped, and all
  // after an error.
  absl::Status FindBuckets(const std::vector<Item>& items);
  absl::StatusOr<int> BucketOf(const Column& lengths, int64_t row, const Item& item) const;
  // Gives the first `count` items of the pass to nobody.
  absl::Status GiveAgain(int64_t count);
  absl::Status CheckFits() const;
  absl::Status PassEnds();
  void ReleaseAll();

  const std::unique_ptr<ItemStream> before_;
  Records* const records_;
  const BucketArgs args_;
  RowMap map_;
  std::deque<Drawn> drawn_;                 // not in their buckets yet, in the order of the stream
  std::vector<std::vector<Item>> waiting_;  // [bucket]
  int64_t epoch_ = 0;
  int64_t given_ = 0;  // elements, in this pass
};

}  // namespace tpurun

#endif  // TPURUN_DATA_BUCKETED_ITEMS_H_
