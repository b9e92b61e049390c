// Records: the rows of a source by number, read once from front to back (StreamedRecords) or held
// in memory (TableRecords). The streams of items (item_stream.h) decide which rows are taken and in
// what order; only when an item leaves the last of them is its row loaded and transformed.
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

// A record on its way: what names it within the records (its number from 0, for most) and, when it
// was streamed, where its bytes wait.
struct Item {
  int64_t id = 0;
  int64_t slot = -1;
};

// Where a record came from, for messages.
struct Origin {
  int32_t file = 0;    // of the files of the source, in their order
  int64_t record = 0;  // of the file, from 0
  int64_t offset = 0;  // bytes before it in the file, where the source knows
};

// Is told of a file, a source or an input without rows. DataLoss, or OK in PREDICT, where it is a
// warning.
using OnEmpty = std::function<absl::Status(const std::string& message)>;

class Records {
 public:
  virtual ~Records() = default;
  virtual const Schema& schema() const = 0;
  // The next records in order, fewer than asked for only at the end. The caller hands each item
  // back to Release when no one will load it again.
  virtual absl::StatusOr<int64_t> Next(std::span<Item> items) = 0;
  // Makes record `index` of a pass the next one; an index that the source does not reach is an
  // error.
  virtual absl::Status Seek(int64_t epoch, int64_t index) = 0;
  // Makes items of which only the ids are known (their slots are -1) loadable, as if Next had just
  // returned them; moves the next record. After an error none may be loaded; all are released.
  virtual absl::Status Hold(std::span<Item> items) = 0;
  virtual void Release(std::span<const Item> items) = 0;
  // What the items that were not yet released take, beyond themselves; what was, is used again.
  virtual int64_t held_bytes() const { return 0; }
  // Puts the rows of the items into *rows, which has the columns of schema(). Their strings are
  // good until the items are released or further ones are asked for.
  virtual void Load(std::span<const Item> items, Table* rows) const = 0;
  // Of an item that was not yet released, or is in memory.
  virtual Origin OriginOf(const Item& item) const = 0;
  // "train.csv:17".
  virtual std::string Where(const Origin& origin) const = 0;
  // The rows in memory, row = id; null when streamed.
  virtual const Table* table() const { return nullptr; }
};

// The line ahead of the records of a file, and its place, "train.csv:1".
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
  // The next record of the pass, passed over when `record` is null; false at the end.
  virtual absl::StatusOr<bool> Read(SourceRecord* record) = 0;
  // To the first record of a pass. A new reader stands there in pass 0.
  virtual absl::Status StartEpoch(int64_t epoch) = 0;
  // Whether passes differ in the order of records.
  virtual bool order_varies() const { return false; }
  virtual std::string Where(const Origin& origin) const = 0;
  // The line ahead of the records of the file that a record is of, good as long as the reader.
  virtual std::string_view HeaderOf(const Origin& origin) const { return {}; }
};

class StreamedRecords : public Records {
 public:
  // The records are the STRING feature `key`; their headers another, unless `header_key` is empty.
  StreamedRecords(std::unique_ptr<SourceReader> reader, std::string key,
                  std::string header_key = "");

  const Schema& schema() const override { return schema_; }
  absl::StatusOr<int64_t> Next(std::span<Item> items) override;
  absl::Status Seek(int64_t epoch, int64_t index) override;
  absl::Status Hold(std::span<Item> items) override;
  void Release(std::span<const Item> items) override;
  int64_t held_bytes() const override { return held_bytes_; }
  void Load(std::span<const Item> items, Table* rows) const override;
  Origin OriginOf(const Item& item) const override { return slots_[item.slot].origin; }
  std::string Where(const Origin& origin) const override { return reader_->Where(origin); }

 private:
  int64_t NewSlot();
  // Reads the next record into a slot, or passes over it (null); false at the end.
  absl::StatusOr<bool> Read(SourceRecord* slot);

  const std::unique_ptr<SourceReader> reader_;
  const Schema schema_;
  int64_t epoch_ = 0;
  int64_t next_index_ = 0;
  std::vector<SourceRecord> slots_;
  std::vector<int64_t> free_slots_;
  int64_t held_bytes_ = 0;  // of slots_ and their strings
};

// Records in memory, at hand in any order: the id of one is its index.
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
  int64_t next_id_ = 0;
};

class TableRecords : public IndexedRecords {
 public:
  // `where` names the place a row came from; without `origins` row i has record i.
  TableRecords(Table table, std::vector<Origin> origins,
               std::function<std::string(const Origin&)> where);

  const Schema& schema() const override { return schema_; }
  void Load(std::span<const Item> items, Table* rows) const override;
  Origin OriginOf(const Item& item) const override;
  std::string Where(const Origin& origin) const override { return where_(origin); }
  const Table* table() const override { return &table_; }

 private:
  const Table table_;
  const Schema schema_;
  const std::vector<Origin> origins_;
  const std::function<std::string(const Origin&)> where_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_RECORDS_H_
