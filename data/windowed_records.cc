#include "data/windowed_records.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/combined_records.h"
#include "data/item_stream.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

class Windows : public CombinedRecords {
 public:
  Windows(std::vector<Elements> elements, const proto::Window& window, std::string where,
          int64_t memory_bytes)
      : CombinedRecords(std::move(elements), WindowSchema(elements[0].output(), window.size())),
        size_(window.size()),
        shift_(window.has_shift() ? window.shift() : window.size()),
        stride_(window.stride()),
        title_(absl::StrCat("a window of ", size_, " elements (", where, ")")),
        memory_bytes_(memory_bytes) {}

  absl::Status Load(std::span<const Item> items, int thread, Table* rows) override {
    std::vector<Item> all;
    all.reserve(items.size() * size_);
    for (const Item& item : items) {
      const std::vector<Item>& parts = PartsOf(item).items;
      all.insert(all.end(), parts.begin(), parts.end());
    }
    ASSIGN_OR_RETURN(const Table* const loaded, input(0).Load(all, thread));
    for (size_t c = 0; c < rows->columns.size(); ++c) {
      CopyValues(loaded->columns[c], &rows->columns[c]);
    }
    rows->rows = std::ssize(items);
    return absl::OkStatus();
  }

  std::string Where(const Origin& origin) const override {
    return absl::StrCat("the window that begins with ", CombinedRecords::Where(origin));
  }

 private:
  void StartPass() override {
    for (const Item& item : ahead_) ReleaseItem(item);
    ahead_.clear();
    to_skip_ = 0;
  }

  int64_t NumParts() const override { return size_; }

  absl::Status CheckFits() const {
    const int64_t bytes = std::ssize(ahead_) * static_cast<int64_t>(sizeof(Item)) + held_bytes();
    if (bytes <= memory_bytes_) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        title_, " does not fit in memory: ", ahead_.size(), " of them take ",
        BytesText(static_cast<double>(bytes)), ", there is ",
        BytesText(static_cast<double>(memory_bytes_)), "; lower its size or its stride"));
  }

  absl::StatusOr<bool> Draw(Parts* parts) override {
    ASSIGN_OR_RETURN(const int64_t skipped,
                     DropItems(input(0).items(), input(0).records(), to_skip_));
    to_skip_ -= skipped;
    if (to_skip_ > 0) return false;
    const int64_t span = (size_ - 1) * stride_ + 1;
    while (std::ssize(ahead_) < span) {
      Item item;
      ASSIGN_OR_RETURN(const bool found, DrawOf(0, &item));
      if (!found) return false;
      HoldItem(item);
      ahead_.push_back(item);
      RETURN_IF_ERROR(CheckFits());
    }
    parts->items.clear();
    for (int64_t i = 0; i < size_; ++i) {
      parts->items.push_back(ahead_[i * stride_]);
      HoldItem(parts->items.back());
    }
    const int64_t passed = std::min(shift_, std::ssize(ahead_));
    for (int64_t i = 0; i < passed; ++i) ReleaseItem(ahead_[i]);
    ahead_.erase(ahead_.begin(), ahead_.begin() + passed);
    to_skip_ = shift_ - passed;
    return true;
  }

  void ReleaseParts(const Parts& parts) override {
    for (const Item& item : parts.items) ReleaseItem(item);
  }

  // An item may be a part of several windows.
  void HoldItem(const Item& item) {
    if (item.slot < 0) return;
    if (item.slot >= std::ssize(uses_)) uses_.resize(item.slot + 1);
    ++uses_[item.slot];
  }
  void ReleaseItem(const Item& item) {
    if (item.slot >= 0 && --uses_[item.slot] > 0) return;
    input(0).records().Release(std::span(&item, 1));
  }

  void SaveState(std::string* text) const override {
    absl::StrAppend(text, " window ", to_skip_, " ", ahead_.size());
    for (const Item& item : ahead_) input(0).records().SaveItem(item, text);
  }

  absl::Status RestoreState(PositionReader& position) override {
    RETURN_IF_ERROR(position.Name("window"));
    ASSIGN_OR_RETURN(to_skip_, position.Number());
    ASSIGN_OR_RETURN(const int64_t ahead, position.Number());
    if (to_skip_ > shift_ || ahead > (size_ - 1) * stride_ + 1) {
      return absl::DataLossError(
          absl::StrCat("damaged input position: ", ahead, " elements of a window, and ", to_skip_,
                       " to its next, want at most ", (size_ - 1) * stride_ + 1, " and ", shift_));
    }
    std::vector<Item> items;
    for (int64_t i = 0; i < ahead; ++i) {
      ASSIGN_OR_RETURN(const Item item, input(0).records().RestoreItem(position));
      items.push_back(item);
    }
    const absl::Status held = input(0).records().Hold(items);
    for (const Item& item : items) HoldItem(item);
    ahead_.assign(items.begin(), items.end());
    return held;
  }

  absl::Status HoldOf(size_t index, std::span<Item* const> items) override {
    const absl::Status status = CombinedRecords::HoldOf(index, items);
    for (const Item* item : items) HoldItem(*item);
    return status;
  }

  const int64_t size_, shift_, stride_;
  const std::string title_;  // in messages
  const int64_t memory_bytes_;
  std::deque<Item> ahead_;          // drawn, from the first element of the next window on
  int64_t to_skip_ = 0;             // elements between those drawn and the next window
  std::vector<int32_t> uses_ = {};  // [slot of an item]
};

}  // namespace

std::unique_ptr<Records> MakeWindows(Elements elements, const proto::Window& window,
                                     const std::string& where, int64_t memory_bytes) {
  std::vector<Elements> inputs;
  inputs.push_back(std::move(elements));
  return std::make_unique<Windows>(std::move(inputs), window, where, memory_bytes);
}

Schema WindowSchema(Schema schema, int64_t size) {
  for (ColumnType& type : schema) type.dims.insert(type.dims.begin(), size);
  return schema;
}

}  // namespace tpurun
