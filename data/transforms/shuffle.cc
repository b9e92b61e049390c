// shuffle { buffer_size seed reshuffle_each_iteration }: as tf.data's, a buffer of buffer_size
// items is filled, then each item given is drawn from it at random and its place taken by the next
// one.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/memory.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr char kRemedy[] = "lower its buffer_size";

class ShuffledItems : public ItemStream {
 public:
  ShuffledItems(const proto::Shuffle& shuffle, ItemTransformArgs args)
      : before_(std::move(args.before)),
        records_(args.records),
        buffer_size_(shuffle.buffer_size()),
        reshuffle_(shuffle.reshuffle_each_iteration()),
        title_(
            absl::StrCat("the shuffle buffer of ", buffer_size_, " elements (", args.where, ")")),
        least_(std::min(buffer_size_, args.least)),
        memory_bytes_(args.memory_bytes),
        seed_(args.seed ^ (static_cast<uint64_t>(shuffle.seed()) * 0x9e3779b97f4a7c15u)),
        stream_(StreamOf(absl::StrCat("shuffle ", shuffle.seed() == 0 ? args.ordinal : 0))) {}

  absl::Status StartEpoch(int64_t epoch) override {
    records_->Release(buffer_);
    buffer_.clear();
    full_ = false;
    epoch_ = epoch;
    given_ = 0;
    return before_->StartEpoch(epoch);
  }

  absl::StatusOr<int64_t> Next(std::span<Item> items) override {
    if (!full_) RETURN_IF_ERROR(Fill());
    // The items that take the places of those given.
    const size_t most = std::min(items.size(), buffer_.size());
    if (replacements_.size() < most) replacements_.resize(most);
    size_t count = 0;
    while (count < items.size() && !buffer_.empty()) {
      const std::span<Item> wanted(replacements_.data(), std::min(items.size() - count, most));
      ASSIGN_OR_RETURN(const int64_t got, before_->Next(wanted));
      for (size_t i = 0; i < wanted.size() && !buffer_.empty(); ++i) {
        Item& drawn = buffer_[Draw()];
        items[count++] = drawn;
        if (static_cast<int64_t>(i) < got) {
          drawn = wanted[i];
        } else {
          drawn = buffer_.back();
          buffer_.pop_back();
        }
      }
    }
    return count;
  }

  // Within one pass of the records the buffer is found again by drawing given_ items; across passes
  // it is written down.
  void SavePosition(std::string* text) const override {
    absl::StrAppend(text, " shuffle ", epoch_, " ", given_);
    if (!crosses_epochs()) return;
    const MemoryUse use(title_, kRemedy);
    absl::StrAppend(text, " ", full_ ? 1 : 0, " ", buffer_.size());
    for (const Item& item : buffer_) records_->SaveItem(item, text);
    before_->SavePosition(text);
  }

  absl::Status RestorePosition(PositionReader& position) override {
    records_->Release(buffer_);
    buffer_.clear();
    RETURN_IF_ERROR(position.Name("shuffle"));
    ASSIGN_OR_RETURN(epoch_, position.Number());
    ASSIGN_OR_RETURN(const int64_t given, position.Number());
    if (!crosses_epochs()) {
      RETURN_IF_ERROR(StartEpoch(epoch_));
      ASSIGN_OR_RETURN(const int64_t drawn, DropItems(*this, *records_, given));
      if (drawn == given) return absl::OkStatus();
      return absl::DataLossError(absl::StrCat("the input has ", drawn,
                                              " elements, but the position to restore is after ",
                                              given, ": were its files changed?"));
    }
    given_ = given;
    ASSIGN_OR_RETURN(const int64_t full, position.Number());
    full_ = full != 0;
    ASSIGN_OR_RETURN(const int64_t size, position.Number());
    if (size > buffer_size_) {
      return absl::DataLossError(absl::StrCat("damaged input position: ", size,
                                              " buffered elements, want at most ", buffer_size_));
    }
    const MemoryUse use(title_, kRemedy);
    for (int64_t i = 0; i < size; ++i) {
      ASSIGN_OR_RETURN(const Item item, records_->RestoreItem(position));
      buffer_.push_back(item);
    }
    RETURN_IF_ERROR(records_->Hold(std::span(buffer_)));
    return before_->RestorePosition(position);
  }

  bool crosses_epochs() const override { return before_->crosses_epochs(); }

 private:
  absl::Status Fill() {
    constexpr int64_t kBlock = 1024;
    const MemoryUse use(title_, kRemedy);
    RETURN_IF_ERROR(CheckFits(least_));
    buffer_.reserve(least_);
    while (std::ssize(buffer_) < buffer_size_) {
      const int64_t old_size = buffer_.size();
      const int64_t block = std::min(kBlock, buffer_size_ - old_size);
      RETURN_IF_ERROR(CheckFits(old_size + block));
      buffer_.resize(old_size + block);
      const absl::StatusOr<int64_t> got = before_->Next(std::span(buffer_).subspan(old_size));
      buffer_.resize(old_size + got.value_or(0));
      RETURN_IF_ERROR(got.status());
      if (*got < block) break;
    }
    full_ = true;
    return absl::OkStatus();
  }

  absl::Status CheckFits(int64_t elements) const {
    const double bytes =
        static_cast<double>(elements) * sizeof(Item) + static_cast<double>(records_->held_bytes());
    if (bytes <= static_cast<double>(memory_bytes_)) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat(title_, " does not fit in memory: ", elements, " of them take ",
                     BytesText(bytes), ", there is ", BytesText(memory_bytes_), "; ", kRemedy));
  }

  // Element i of a pass draws with lanes 2i and 2i + 1 of the pass's stream.
  size_t Draw() {
    const int64_t block = given_ / 2;
    if (block < first_block_ || block >= first_block_ + kPhiloxLanes || epoch_ != blocks_epoch_) {
      first_block_ = block;
      blocks_epoch_ = epoch_;
      DrawPhiloxBlocks(seed_, stream_, reshuffle_ ? static_cast<uint32_t>(epoch_) : 0, 0, block, 1,
                       blocks_);
    }
    const int64_t word = given_ % 2 * 2;
    ++given_;
    return UniformBelow(blocks_.words[word][block - first_block_],
                        blocks_.words[word + 1][block - first_block_], buffer_.size());
  }

  const std::unique_ptr<ItemStream> before_;
  Records* const records_;
  const int64_t buffer_size_;
  const bool reshuffle_;
  const std::string title_;  // in messages
  const int64_t least_;      // elements that the first filling of a pass finds
  const int64_t memory_bytes_;
  const uint64_t seed_;
  const uint32_t stream_;
  std::vector<Item> buffer_;
  std::vector<Item> replacements_;
  bool full_ = false;  // filled once in this pass
  int64_t epoch_ = 0;
  int64_t given_ = 0;  // items given in this pass
  PhiloxBlocks blocks_;
  int64_t first_block_ = 0;
  int64_t blocks_epoch_ = -1;
};

}  // namespace

std::unique_ptr<ItemStream> MakeShuffle(const proto::Transform& transform, ItemTransformArgs args) {
  return std::make_unique<ShuffledItems>(transform.shuffle(), std::move(args));
}

int64_t CountShuffle(const proto::Transform& transform, int64_t before) { return before; }

}  // namespace tpurun
