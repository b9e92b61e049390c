// Records: the rows of a source, by number. They are read from front to back (StreamedRecords),
// held in memory (TableRecords), or made of the elements of other pipelines (combined_records.h).
// The item streams (item_stream.h) choose and order the rows. The row of an item is loaded and
// transformed only after the item has passed the last stream.
#ifndef TPURUN_DATA_RECORDS_H_
#define TPURUN_DATA_RECORDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/table.h"

namespace tpurun {

// A record in the pipeline: its number within one pass over the records, from 0, the pass, and, if
// the records are streamed, the slot that holds its bytes.
struct Item {
  int64_t id = 0;
  uint32_t epoch = 0;  // modulo 2^32
  int32_t slot = -1;
};

// Identifies an element for what is drawn for it at random: the pass over the source, and the place
// in the order of the source within that pass. `shard`, `cache` and `shuffle` keep it.
struct RowId {
  uint32_t epoch = 0;  // modulo 2^32
  int64_t index = 0;

  bool operator==(const RowId&) const = default;
};

// Where a record came from, for messages.
struct Origin {
  int32_t file = 0;    // index into the files of the source, in their order
  int64_t record = 0;  // number in its file, from 0
  int64_t offset = 0;  // bytes before the record in its file, if the source knows them
};

// Called for a file, a source or an input without rows. Returns DataLoss, or OK in PREDICT, which
// only warns.
using OnEmpty = std::function<absl::Status(const std::string& message)>;

class PositionReader;

class Records {
 public:
  virtual ~Records() = default;
  virtual const Schema& schema() const = 0;
  // Returns the next records in order, fewer than items.size() only at the end. The caller passes
  // each item to Release after its last Load.
  virtual absl::StatusOr<int64_t> Next(std::span<Item> items) = 0;
  // Makes record `index` of pass `epoch` the next record. DataLoss if the source ends before that
  // index.
  virtual absl::Status Seek(int64_t epoch, int64_t index) = 0;
  // Appends the words of item_stream.h that RestoreItem makes the item of again.
  virtual void SaveItem(const Item& item, std::string* text) const;
  // Reads such words. Hold must be called before anything else is done with the item.
  virtual absl::StatusOr<Item> RestoreItem(PositionReader& position);
  // Makes items of RestoreItem loadable, as if Next had just returned them. Changes which record is
  // next. After an error none of the items may be loaded; all must be released.
  virtual absl::Status Hold(std::span<Item> items) = 0;
  virtual void Release(std::span<const Item> items) = 0;
  // True if one pass can contain several passes over a source, so that it may have no end.
  virtual bool crosses_epochs() const { return false; }
  // The seconds of the last Load of the thread that count for stages of their own (InputTimes).
  virtual double InnerSeconds(int thread) const { return 0; }
  // What a position needs beside the epoch and the index of the next record, as words of
  // item_stream.h. RestorePosition does what Seek does, and reads these words.
  virtual void SavePosition(std::string* text) const {}
  virtual absl::Status RestorePosition(int64_t epoch, int64_t index, PositionReader& position) {
    return Seek(epoch, index);
  }
  // The bytes that the unreleased items take, besides the Items themselves. The memory of released
  // items is reused.
  virtual int64_t held_bytes() const { return 0; }
  // Puts the rows of the items into *rows, which has the columns of schema(). Their strings are
  // valid until the items are released, Next or Hold is called, or the same thread loads others.
  // Several threads may call it at the same time, each with a number of its own from 0 on; the
  // first call is of thread 0 alone. Records that are made of elements return the errors of their
  // transforms.
  virtual absl::Status Load(std::span<const Item> items, int thread, Table* rows) = 0;
  virtual RowId IdOf(const Item& item) const { return {item.epoch, item.id}; }
  // The origin of an item that is in memory or not released yet.
  virtual Origin OriginOf(const Item& item) const = 0;
  // The place as text: "train.csv:17".
  virtual std::string Where(const Origin& origin) const = 0;
  // The rows in memory, indexed by id. nullptr if the records are streamed.
  virtual const Table* table() const { return nullptr; }
};

// The line before the records of a file, and its place, "train.csv:1".
struct FileHeader {
  std::string where;
  std::string line;
};

// A record of a file.
struct SourceRecord {
  std::string bytes;
  Origin origin;
};

// Reads the records of one kind of file from front to back.
class SourceReader {
 public:
  virtual ~SourceReader() = default;
  // Reads the next record of the pass. Skips it if `record` is nullptr. False at the end.
  virtual absl::StatusOr<bool> Read(SourceRecord* record) = 0;
  // Moves to the first record of pass `epoch`. A new reader is at the beginning of pass 0.
  virtual absl::Status StartEpoch(int64_t epoch) = 0;
  // True if the order of records differs between passes.
  virtual bool order_varies() const { return false; }
  virtual std::string Where(const Origin& origin) const = 0;
  // The line before the records of the file of `origin`. Valid as long as the reader.
  virtual std::string_view HeaderOf(const Origin& origin) const { return {}; }
};

class StreamedRecords : public Records {
 public:
  // The records become the STRING column `key`. Their file headers become the column `header_key`,
  // unless that is empty.
  StreamedRecords(std::unique_ptr<SourceReader> reader, std::string key,
                  std::string header_key = "");

  const Schema& schema() const override { return schema_; }
  absl::StatusOr<int64_t> Next(std::span<Item> items) override;
  absl::Status Seek(int64_t epoch, int64_t index) override;
  absl::Status Hold(std::span<Item> items) override;
  void Release(std::span<const Item> items) override;
  int64_t held_bytes() const override { return held_bytes_; }
  absl::Status Load(std::span<const Item> items, int thread, Table* rows) override;
  Origin OriginOf(const Item& item) const override { return slots_[item.slot].origin; }
  std::string Where(const Origin& origin) const override { return reader_->Where(origin); }

 private:
  int32_t NewSlot();
  // Reads the next record into *slot, or skips it if `slot` is nullptr. False at the end.
  absl::StatusOr<bool> Read(SourceRecord* slot);

  const std::unique_ptr<SourceReader> reader_;
  const Schema schema_;
  int64_t epoch_ = 0;
  int64_t next_index_ = 0;
  std::vector<SourceRecord> slots_;
  std::vector<int32_t> free_slots_;
  int64_t held_bytes_ = 0;  // of slots_ and their strings
};

// Records that can be accessed in any order. The id of a record is its index.
class IndexedRecords : public Records {
 public:
  absl::StatusOr<int64_t> Next(std::span<Item> items) override;
  absl::Status Seek(int64_t epoch, int64_t index) override;
  absl::Status Hold(std::span<Item> items) override;
  void Release(std::span<const Item> items) override {}

 protected:
  explicit IndexedRecords(int64_t count) : count_(count) {}

 private:
  const int64_t count_;
  int64_t epoch_ = 0;
  int64_t next_id_ = 0;
};

// The identity of a row in memory that was an element of other records.
struct RowSource {
  Origin origin;
  RowId id;
};

class TableRecords : public IndexedRecords {
 public:
  // `where` names the place of an origin. `sources` has an entry for each row, or is empty if the
  // rows are the records of the source. A pass over the rows has all the epochs of the sources: in
  // pass p, the epoch of a row is p times their number plus that of its source, as if the records
  // were read again.
  TableRecords(Table table, std::vector<RowSource> sources,
               std::function<std::string(const Origin&)> where);

  const Schema& schema() const override { return schema_; }
  absl::Status Load(std::span<const Item> items, int thread, Table* rows) override;
  RowId IdOf(const Item& item) const override;
  Origin OriginOf(const Item& item) const override;
  std::string Where(const Origin& origin) const override { return where_(origin); }
  const Table* table() const override { return &table_; }

 private:
  const Table table_;
  const Schema schema_;
  const std::vector<RowSource> sources_;
  uint32_t epochs_ = 1;  // of sources_
  const std::function<std::string(const Origin&)> where_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_RECORDS_H_
