#include "data/records.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/item_stream.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// Of a source whose order varies: the epoch of an item decides which record it is.
constexpr int64_t kMaxEpoch = std::numeric_limits<uint32_t>::max();

absl::Status EndsBefore(int64_t id, int64_t records) {
  return absl::DataLossError(absl::StrCat("the input has ", records,
                                          " records, but the position to restore is at record ", id,
                                          ": were its files changed?"));
}

Schema SchemaOf(const Table& table) {
  Schema schema;
  for (const Column& column : table.columns) schema.push_back(column.type);
  return schema;
}

Schema SchemaOf(std::string key, std::string header_key) {
  Schema schema = {{std::move(key), proto::STRING, {}}};
  if (!header_key.empty()) schema.push_back({std::move(header_key), proto::STRING, {}});
  return schema;
}

}  // namespace

void Records::SaveItem(const Item& item, std::string* text) const {
  absl::StrAppend(text, " ", item.id, " ", item.epoch);
}

absl::StatusOr<Item> Records::RestoreItem(PositionReader& position) {
  ASSIGN_OR_RETURN(const int64_t id, position.Number());
  if (position.version() == 1) {
    constexpr int kIndexBits = 36;
    return Item{id & ((int64_t{1} << kIndexBits) - 1), static_cast<uint32_t>(id >> kIndexBits)};
  }
  ASSIGN_OR_RETURN(const int64_t epoch, position.Number());
  return Item{id, static_cast<uint32_t>(epoch)};
}

// ---------------------------------------------------------------------------------- streamed

StreamedRecords::StreamedRecords(std::unique_ptr<SourceReader> reader, std::string key,
                                 std::string header_key)
    : reader_(std::move(reader)), schema_(SchemaOf(std::move(key), std::move(header_key))) {}

int32_t StreamedRecords::NewSlot() {
  if (free_slots_.empty()) {
    slots_.emplace_back();
    held_bytes_ += sizeof(SourceRecord);
    return static_cast<int32_t>(slots_.size() - 1);
  }
  const int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

absl::StatusOr<bool> StreamedRecords::Read(SourceRecord* slot) {
  const size_t before = slot == nullptr ? 0 : slot->bytes.capacity();
  absl::StatusOr<bool> found = reader_->Read(slot);
  if (slot != nullptr) held_bytes_ += slot->bytes.capacity() - before;
  if (found.ok() && *found) ++next_index_;
  return found;
}

absl::StatusOr<int64_t> StreamedRecords::Next(std::span<Item> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    const int32_t slot = NewSlot();
    items[i] = {next_index_, static_cast<uint32_t>(epoch_), slot};
    const absl::StatusOr<bool> found = Read(&slots_[slot]);
    if (!found.ok()) {
      Release(items.first(i + 1));
      return found.status();
    }
    if (!*found) {
      free_slots_.push_back(slot);
      return i;
    }
  }
  return items.size();
}

absl::Status StreamedRecords::Seek(int64_t epoch, int64_t index) {
  if (reader_->order_varies() && epoch > kMaxEpoch) {
    return absl::DataLossError(
        absl::StrCat("pass ", epoch, ": files in a new order are counted up to pass ", kMaxEpoch));
  }
  if (index < next_index_ || (reader_->order_varies() && epoch != epoch_)) {
    RETURN_IF_ERROR(reader_->StartEpoch(epoch));
    next_index_ = 0;
  }
  epoch_ = epoch;
  while (next_index_ < index) {
    ASSIGN_OR_RETURN(const bool found, Read(nullptr));
    if (!found) return EndsBefore(index, next_index_);
  }
  return absl::OkStatus();
}

absl::Status StreamedRecords::Hold(std::span<Item> items) {
  std::vector<Item*> by_id;
  for (Item& item : items) by_id.push_back(&item);
  // Where all passes have the same order, an item's epoch does not matter.
  const auto key = [varies = reader_->order_varies()](const Item* item) {
    return std::pair(varies ? item->epoch : 0, item->id);
  };
  std::sort(by_id.begin(), by_id.end(),
            [&](const Item* a, const Item* b) { return key(a) < key(b); });
  const Item* previous = nullptr;
  for (Item* item : by_id) {
    item->slot = NewSlot();
    if (previous != nullptr && key(previous) == key(item)) {
      held_bytes_ -= slots_[item->slot].bytes.capacity();
      slots_[item->slot] = slots_[previous->slot];
      held_bytes_ += slots_[item->slot].bytes.capacity();
      continue;
    }
    RETURN_IF_ERROR(Seek(item->epoch, item->id));
    ASSIGN_OR_RETURN(const bool found, Read(&slots_[item->slot]));
    if (!found) return EndsBefore(item->id, next_index_);
    previous = item;
  }
  return absl::OkStatus();
}

void StreamedRecords::Release(std::span<const Item> items) {
  for (const Item& item : items) {
    if (item.slot >= 0) free_slots_.push_back(item.slot);
  }
}

absl::Status StreamedRecords::Load(std::span<const Item> items, int, Table* rows) {
  Column& column = rows->columns[0];
  column.Clear();
  column.strings.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) column.SetView(i, slots_[items[i].slot].bytes);
  rows->rows = items.size();
  if (schema_.size() == 1) return absl::OkStatus();
  Column& headers = rows->columns[1];
  headers.Clear();
  for (const Item& item : items) {
    headers.AppendView(reader_->HeaderOf(slots_[item.slot].origin));
  }
  return absl::OkStatus();
}

// ---------------------------------------------------------------------------------- in memory

absl::StatusOr<int64_t> IndexedRecords::Next(std::span<Item> items) {
  const int64_t count = std::min<int64_t>(items.size(), count_ - next_id_);
  const auto epoch = static_cast<uint32_t>(epoch_);
  for (int64_t i = 0; i < count; ++i) items[i] = {next_id_ + i, epoch, -1};
  next_id_ += count;
  return count;
}

absl::Status IndexedRecords::Seek(int64_t epoch, int64_t index) {
  if (index > count_) return EndsBefore(index, count_);
  epoch_ = epoch;
  next_id_ = index;
  return absl::OkStatus();
}

absl::Status IndexedRecords::Hold(std::span<Item> items) {
  for (const Item& item : items) {
    if (item.id >= count_) return EndsBefore(item.id, count_);
  }
  return absl::OkStatus();
}

TableRecords::TableRecords(Table table, std::vector<RowSource> sources,
                           std::function<std::string(const Origin&)> where)
    : IndexedRecords(table.rows),
      table_(std::move(table)),
      schema_(SchemaOf(table_)),
      sources_(std::move(sources)),
      where_(std::move(where)) {
  for (const RowSource& source : sources_) epochs_ = std::max(epochs_, source.id.epoch + 1);
}

RowId TableRecords::IdOf(const Item& item) const {
  if (sources_.empty()) return Records::IdOf(item);
  const RowId& id = sources_[item.id].id;
  return {item.epoch * epochs_ + id.epoch, id.index};
}

Origin TableRecords::OriginOf(const Item& item) const {
  return sources_.empty() ? Origin{.record = item.id} : sources_[item.id].origin;
}

absl::Status TableRecords::Load(std::span<const Item> items, int, Table* rows) {
  for (size_t c = 0; c < table_.columns.size(); ++c) {
    const Column& from = table_.columns[c];
    Column& column = rows->columns[c];
    if (from.type.dtype == proto::STRING || from.type.varies()) {
      column.Clear();
      for (const Item& item : items) column.AppendRowView(from, item.id);
    } else {
      column.bytes.resize(items.size() * from.type.row_bytes());
      GatherRows(from, items, column.bytes.data());
    }
  }
  rows->rows = items.size();
  return absl::OkStatus();
}

}  // namespace tpurun
