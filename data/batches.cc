#include "data/batches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
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

class Batches : public BatchSource {
 public:
  Batches(Elements elements, BatchesArgs args)
      : elements_(std::move(elements)), args_(std::move(args)), items_(args_.batch_size) {
    for (const FeatureSpec& feature : args_.features) lent_.push_back({.column = feature.name});
    const Table* const table = elements_.records->table();
    if (table == nullptr || !elements_.transforms.empty()) return;
    for (const FeatureSpec& feature : args_.features) {
      gathered_.push_back(&table->columns[table->Find(feature.name)]);
    }
  }

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    ReleaseBatch();
    ASSIGN_OR_RETURN(const int64_t got, elements_.items->Next(std::span(items_)));
    const std::span<const Item> items = std::span(items_).first(got);
    if (got == 0 || (got < args_.batch_size && args_.drop_remainder)) {
      elements_.records->Release(items);
      if (!at_start_ || args_.allow_empty) return 0;
      return NoBatch(got);
    }
    at_start_ = false;
    if (gathered_.empty()) {
      RETURN_IF_ERROR(LoadRows(items, buffers));
    } else {
      for (size_t i = 0; i < gathered_.size(); ++i) GatherRows(*gathered_[i], items, buffers[i]);
    }
    batch_ = items;
    return got;
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
    ReleaseBatch();
    PositionReader reader(std::string_view(position).substr(mark + std::strlen(kPositionMark)));
    RETURN_IF_ERROR(elements_.items->RestorePosition(reader));
    at_start_ = false;
    return reader.End();
  }

  std::string Where(int64_t row) const override {
    if (row < 0 || row >= std::ssize(batch_)) return "the start of the input";
    return elements_.records->Where(elements_.records->OriginOf(batch_[row]));
  }

 private:
  void ReleaseBatch() {
    elements_.records->Release(batch_);
    batch_ = {};
  }

  absl::Status LoadRows(std::span<const Item> items, BatchBuffers buffers) {
    for (size_t begin = 0; begin < items.size(); begin += kRowsAtATime) {
      const size_t count = std::min<size_t>(kRowsAtATime, items.size() - begin);
      for (size_t i = 0; i < lent_.size(); ++i) {
        const int64_t row_bytes = args_.features[i].shape.bytes();
        lent_[i].memory = buffers[i] + begin * row_bytes;
        lent_[i].bytes = count * row_bytes;
      }
      RETURN_IF_ERROR(elements_.Load(items.subspan(begin, count), lent_).status());
    }
    return absl::OkStatus();
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
  std::vector<const Column*> gathered_;  // of each feature, when rows need no more than copying
  std::vector<Item> items_;
  std::vector<Lent> lent_;  // the place of each feature in the batch
  bool at_start_ = true;
  std::span<const Item> batch_;  // of items_: the last batch, held for Where
};

}  // namespace

absl::StatusOr<const Table*> Elements::Load(std::span<const Item> items,
                                            std::span<const Lent> lent) {
  if (tables.empty()) {
    tables.push_back(EmptyTable(records->schema()));
    for (const RowTransform& transform : transforms) tables.push_back(EmptyTable(transform.output));
  }
  const auto makes = [](const RowTransform& transform, std::string_view column) {
    return std::find(transform.makes.begin(), transform.makes.end(), column) !=
           transform.makes.end();
  };
  // Where it is made last; the transforms that follow pass it on with its memory.
  for (const Lent& memory : lent) {
    size_t made = transforms.size();
    while (made > 0 && !makes(transforms[made - 1], memory.column)) --made;
    tables[made].column(memory.column).bytes.Lend(memory.memory, memory.bytes);
  }
  records->Load(items, &tables[0]);
  const auto where = [&](int64_t row) { return records->Where(records->OriginOf(items[row])); };
  for (size_t i = 0; i < transforms.size(); ++i) {
    Table& in = tables[i];
    Table& out = tables[i + 1];
    out.rows = in.rows;
    RETURN_IF_ERROR(transforms[i].apply(in, &out, where));
    for (Column& column : out.columns) {
      const std::string& name = column.type.name;
      if (!makes(transforms[i], name)) std::swap(column, in.column(name));
    }
  }
  return &tables.back();
}

absl::StatusOr<Elements> CacheElements(Elements elements, const Schema& keep) {
  Table table = EmptyTable(keep);
  std::vector<Origin> origins;  // of each row
  std::array<Item, kRowsAtATime> items;
  while (true) {
    ASSIGN_OR_RETURN(const int64_t got, elements.items->Next(std::span(items)));
    const std::span<const Item> block = std::span(items).first(got);
    ASSIGN_OR_RETURN(const Table* const rows, elements.Load(block, {}));
    for (const Item& item : block) origins.push_back(elements.records->OriginOf(item));
    elements.records->Release(block);
    table.Append(*rows);
    if (got < kRowsAtATime) break;
  }
  Elements cached;
  const auto where = [before = std::shared_ptr<Records>(std::move(elements.records))](
                         const Origin& origin) { return before->Where(origin); };
  cached.records = std::make_unique<TableRecords>(std::move(table), std::move(origins), where);
  cached.items = std::make_unique<RecordItems>(cached.records.get());
  return cached;
}

std::unique_ptr<BatchSource> MakeBatches(Elements elements, BatchesArgs args) {
  return std::make_unique<Batches>(std::move(elements), std::move(args));
}

}  // namespace tpurun
