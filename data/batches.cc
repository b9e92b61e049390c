#include "data/batches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Rows that are loaded and transformed at a time: their columns stay in the cache of a core.
constexpr int64_t kRowsAtATime = 128;

// A position is "SIGNATURE @ WORDS", the words being those of item_stream.h.
constexpr char kPositionMark[] = " @";

Table EmptyTable(const Schema& schema) {
  Table table;
  for (const ColumnType& type : schema) table.columns.push_back({.type = type});
  return table;
}

bool Makes(const RowTransform& transform, std::string_view column) {
  return std::find(transform.makes.begin(), transform.makes.end(), column) != transform.makes.end();
}

class Batches : public BatchSource {
 public:
  Batches(Elements elements, BatchesArgs args)
      : elements_(std::move(elements)), args_(std::move(args)), items_(kRowsAtATime) {
    const Table* const table = elements_.records->table();
    for (const FeatureSpec& feature : args_.features) {
      if (table != nullptr && elements_.transforms.empty()) {
        gathered_.push_back(&table->columns[table->Find(feature.name)]);
      } else {
        loaded_.push_back(&elements_.NumbersOf(feature.name));
      }
    }
  }

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    origins_.clear();
    int64_t rows = 0, got = kRowsAtATime;
    while (rows < args_.batch_size && got == kRowsAtATime) {
      const std::span block =
          std::span(items_).first(std::min(kRowsAtATime, args_.batch_size - rows));
      ASSIGN_OR_RETURN(got, elements_.items->Next(block));
      const std::span<const Item> items = block.first(got);
      const absl::Status loaded = LoadRows(items, rows, buffers);
      for (const Item& item : items) origins_.push_back(elements_.records->OriginOf(item));
      elements_.records->Release(items);
      RETURN_IF_ERROR(loaded);
      rows += got;
    }
    if (rows == 0 || (rows < args_.batch_size && args_.drop_remainder)) {
      if (!at_start_ || args_.allow_empty) return 0;
      return NoBatch(rows);
    }
    at_start_ = false;
    return rows;
  }

  std::string Position() const override {
    std::string position = absl::StrCat(args_.signature, kPositionMark);
    elements_.items->SavePosition(&position);
    return position;
  }

  absl::Status Restore(const std::string& position) override {
    const size_t mark = position.rfind(kPositionMark);
    if (mark == std::string::npos) {
      return absl::DataLossError(absl::StrCat("damaged input position: ", Quote(position)));
    }
    const std::string signature = position.substr(0, mark);
    if (signature != args_.signature) {
      return absl::InvalidArgumentError(
          absl::StrCat("the saved input position belongs to another input: got ", Quote(signature),
                       ", want ", Quote(args_.signature)));
    }
    PositionReader reader(std::string_view(position).substr(mark + std::strlen(kPositionMark)));
    RETURN_IF_ERROR(elements_.items->RestorePosition(reader));
    at_start_ = false;
    return reader.End();
  }

  std::string Where(int64_t row) const override {
    if (row < 0 || row >= std::ssize(origins_)) return "the start of the input";
    return elements_.records->Where(origins_[row]);
  }

 private:
  // Puts the rows of the items into the batch from row `begin` on.
  absl::Status LoadRows(std::span<const Item> items, int64_t begin, BatchBuffers buffers) {
    for (size_t i = 0; i < args_.features.size(); ++i) {
      const int64_t row_bytes = args_.features[i].shape.bytes();
      std::byte* const rows = buffers[i] + begin * row_bytes;
      if (gathered_.empty()) {
        loaded_[i]->Lend(rows, items.size() * row_bytes);
      } else {
        GatherRows(*gathered_[i], items, rows);
      }
    }
    return gathered_.empty() ? elements_.Load(items).status() : absl::OkStatus();
  }

  absl::Status NoBatch(int64_t elements) const {
    if (elements == 0) return absl::DataLossError(args_.empty);
    return absl::DataLossError(absl::StrCat(
        args_.where, ": the input has ", elements, elements == 1 ? " element" : " elements",
        ", fewer than one ", args_.batch_size_name, " of ", args_.batch_size,
        "; lower it, or add transform { repeat {} } before batch"));
  }

  Elements elements_;
  const BatchesArgs args_;
  // Of each feature: where its rows are copied from when they need no more, else what makes them.
  std::vector<const Column*> gathered_;
  std::vector<Bytes*> loaded_;
  std::vector<Item> items_;
  bool at_start_ = true;
  std::vector<Origin> origins_;  // of the rows of the last batch
};

}  // namespace

void Elements::MakeTables() {
  if (!tables.empty()) return;
  tables.push_back(EmptyTable(records->schema()));
  for (const RowTransform& transform : transforms) {
    tables.push_back(EmptyTable(transform.output));
    const Table& in = tables[tables.size() - 2];
    passed.emplace_back();
    for (int i = 0; i < std::ssize(transform.output); ++i) {
      const std::string& name = transform.output[i].name;
      if (!Makes(transform, name)) passed.back().emplace_back(in.Find(name), i);
    }
  }
}

Bytes& Elements::NumbersOf(std::string_view column) {
  MakeTables();
  // Where it is made last; the transforms that follow pass it on with its memory.
  size_t made = transforms.size();
  while (made > 0 && !Makes(transforms[made - 1], column)) --made;
  return tables[made].column(column).bytes;
}

absl::StatusOr<const Table*> Elements::Load(std::span<const Item> items) {
  MakeTables();
  records->Load(items, &tables[0]);
  const auto where = [&](int64_t row) { return records->Where(records->OriginOf(items[row])); };
  for (size_t i = 0; i < transforms.size(); ++i) {
    Table& in = tables[i];
    Table& out = tables[i + 1];
    out.rows = in.rows;
    RETURN_IF_ERROR(transforms[i].apply(in, &out, where));
    for (const auto& [from, to] : passed[i]) out.columns[to].SwapValues(in.columns[from]);
  }
  return &tables.back();
}

absl::StatusOr<Elements> CacheElements(Elements elements, const Schema& keep,
                                       const std::string& where, int64_t memory_bytes) {
  Table table = EmptyTable(keep);
  std::vector<Origin> origins;  // of each row
  std::array<Item, kRowsAtATime> items;
  while (true) {
    ASSIGN_OR_RETURN(const int64_t got, elements.items->Next(std::span(items)));
    const std::span<const Item> block = std::span(items).first(got);
    ASSIGN_OR_RETURN(const Table* const rows, elements.Load(block));
    for (const Item& item : block) origins.push_back(elements.records->OriginOf(item));
    elements.records->Release(block);
    table.Append(*rows);
    const int64_t held = table.bytes() + std::ssize(origins) * static_cast<int64_t>(sizeof(Origin));
    if (held > memory_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(where, ": does not fit in memory: the first ", table.rows, " rows take ",
                       GibText(held), ", the machine has ", GibText(memory_bytes),
                       "; leave cache out, or put it before what makes rows larger or more"));
    }
    if (got < kRowsAtATime) break;
  }
  Elements cached;
  const auto name_origin = [before = std::shared_ptr<Records>(std::move(elements.records))](
                               const Origin& origin) { return before->Where(origin); };
  cached.records =
      std::make_unique<TableRecords>(std::move(table), std::move(origins), name_origin);
  cached.items = std::make_unique<RecordItems>(cached.records.get());
  return cached;
}

std::unique_ptr<BatchSource> MakeBatches(Elements elements, BatchesArgs args) {
  return std::make_unique<Batches>(std::move(elements), std::move(args));
}

}  // namespace tpurun
