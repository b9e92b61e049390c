// Streams of items, which decide the record that comes next. A chain of streams is between the
// records and the batches. Each stream can save its position as a few words and continue from
// there.
#ifndef TPURUN_DATA_ITEM_STREAM_H_
#define TPURUN_DATA_ITEM_STREAM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/records.h"

namespace tpurun {

// The version of the words of positions that are written. 1: a buffered item of a shuffle is one
// number, EPOCH << 36 | INDEX, whose epoch is 0 if the source has the same order in all passes. 2:
// it is two numbers, index and epoch.
inline constexpr int kPositionVersion = 2;

// Parses the words of a position: the name and the numbers of each stream, from the last stream to
// the first.
class PositionReader {
 public:
  PositionReader(std::string_view text, int version);
  int version() const { return version_; }
  // The next word must be `name`.
  absl::Status Name(std::string_view name);
  // The next word must be a number >= 0.
  absl::StatusOr<int64_t> Number();
  absl::Status End() const;

 private:
  const int version_;
  std::vector<std::string> words_;
  size_t next_ = 0;
};

class ItemStream {
 public:
  virtual ~ItemStream() = default;
  // Starts pass `epoch` from its beginning. A new stream is at the beginning of pass 0.
  virtual absl::Status StartEpoch(int64_t epoch) = 0;
  // Returns the next items: fewer than items.size() only at the end of the pass, and 0 after the
  // end.
  virtual absl::StatusOr<int64_t> Next(std::span<Item> items) = 0;
  // Appends " NAME NUMBER..." for this stream and those before it.
  virtual void SavePosition(std::string* text) const = 0;
  virtual absl::Status RestorePosition(PositionReader& position) = 0;
  // True if one pass of this stream can contain several passes of the records. Its position can
  // then not be restored by counting from the start of one pass.
  virtual bool crosses_epochs() const = 0;
};

// A stream that has no position of its own: it passes all on but Next.
class PassingItems : public ItemStream {
 public:
  absl::Status StartEpoch(int64_t epoch) override { return before_->StartEpoch(epoch); }
  void SavePosition(std::string* text) const override { before_->SavePosition(text); }
  absl::Status RestorePosition(PositionReader& position) override {
    return before_->RestorePosition(position);
  }
  bool crosses_epochs() const override { return before_->crosses_epochs(); }

 protected:
  explicit PassingItems(std::unique_ptr<ItemStream> before) : before_(std::move(before)) {}
  ItemStream& before() { return *before_; }

 private:
  const std::unique_ptr<ItemStream> before_;
};

// The first stream of a chain: all records in order. Does not own them.
class RecordItems : public ItemStream {
 public:
  explicit RecordItems(Records* records) : records_(records) {}
  absl::Status StartEpoch(int64_t epoch) override;
  absl::StatusOr<int64_t> Next(std::span<Item> items) override;
  void SavePosition(std::string* text) const override;
  absl::Status RestorePosition(PositionReader& position) override;
  bool crosses_epochs() const override { return records_->crosses_epochs(); }

 private:
  Records* const records_;
  int64_t epoch_ = 0;
  int64_t next_ = 0;  // items returned in this pass
};

// Draws and drops `count` items, or fewer at the end of the pass. Returns the number of dropped
// items.
absl::StatusOr<int64_t> DropItems(ItemStream& stream, Records& records, int64_t count);

}  // namespace tpurun

#endif  // TPURUN_DATA_ITEM_STREAM_H_
