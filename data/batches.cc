#include "data/batches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/spec/dtypes.h"

namespace tpurun {
namespace {

// Rows that are loaded and transformed at a time: the columns of small ones stay in the cache of a
// core.
constexpr int64_t kRowsAtATime = 128;

// A position is "SIGNATURE @ WORDS", the words being those of item_stream.h.
constexpr char kPositionMark[] = " @";

// Without the names of files, which a position once had behind its first word:
// tfrecord "a" "b" num_parallel_reads 1 | repeat { }.
std::string WithoutFileNames(std::string signature) {
  const size_t begin = signature.find(' ');
  while (begin != std::string::npos && signature.compare(begin, 2, " \"") == 0) {
    size_t end = begin + 2;
    while (end < signature.size() && signature[end] != '"') end += signature[end] == '\\' ? 2 : 1;
    signature.erase(begin, end + 1 - begin);
  }
  return signature;
}

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
      : elements_(std::move(elements)),
        args_(std::move(args)),
        items_(args_.batch_size * args_.batches_per_step) {
    const Table* const table = elements_.records->table();
    gathers_ = table != nullptr && elements_.transforms.empty();
    for (const FeatureSpec& feature : args_.features) {
      if (gathers_) {
        gathered_.push_back(&table->columns[table->Find(feature.name)]);
      } else {
        loaded_.push_back(&elements_.NumbersOf(feature.name));
      }
    }
    const Schema& columns = gathers_ || elements_.transforms.empty()
                                ? elements_.records->schema()
                                : elements_.transforms.back().output;
    for (const std::string& name : args_.forward_features) {
      forwarded_.columns.push_back({.type = columns[FindColumn(columns, name)]});
    }
  }

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    InputTimes::Timer timer(elements_.times.get(), args_.stage);
    ReleaseBatch();
    ASSIGN_OR_RETURN(const int64_t got, elements_.items->Next(std::span(items_)));
    const int64_t kept = args_.drop_remainder ? got / args_.batch_size * args_.batch_size : got;
    elements_.records->Release(std::span(items_).subspan(kept, got - kept));
    if (kept == 0) {
      if (!at_start_) return 0;
      at_start_ = false;
      RETURN_IF_ERROR(args_.on_empty(NoBatch(got)));
      return 0;
    }
    const std::span<const Item> items = std::span(items_).first(kept);
    at_start_ = false;
    batch_ = items;
    timer.AddRows(kept);
    for (Column& column : forwarded_.columns) column.Clear();
    if (gathers_) {
      for (size_t i = 0; i < gathered_.size(); ++i) GatherRows(*gathered_[i], items, buffers[i]);
      for (const Item& item : items) Forward(*elements_.records->table(), item.id);
    } else {
      RETURN_IF_ERROR(LoadRows(buffers));
    }
    return kept;
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
    const std::string signature = WithoutFileNames(position.substr(0, mark));
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

  std::vector<HostFeature> Forwarded() const override {
    std::vector<HostFeature> features;
    for (const Column& column : forwarded_.columns) {
      HostFeature& feature = features.emplace_back();
      feature.name = column.type.name;
      feature.dims = column.type.dims;
      feature.dtype = ToDType(column.type.dtype);
      feature.numbers.assign(column.bytes.data(), column.bytes.data() + column.bytes.size());
      for (size_t i = 0; i < column.strings.size(); ++i) {
        feature.strings.emplace_back(column.string(static_cast<int64_t>(i)));
      }
    }
    return features;
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

  absl::Status LoadRows(BatchBuffers buffers) {
    for (size_t begin = 0; begin < batch_.size(); begin += kRowsAtATime) {
      const size_t count = std::min<size_t>(kRowsAtATime, batch_.size() - begin);
      for (size_t i = 0; i < loaded_.size(); ++i) {
        const int64_t row_bytes = args_.features[i].shape.bytes();
        loaded_[i]->Lend(buffers[i] + begin * row_bytes, count * row_bytes);
      }
      ASSIGN_OR_RETURN(const Table* const rows, elements_.Load(batch_.subspan(begin, count)));
      for (size_t i = 0; i < loaded_.size(); ++i) {
        const FeatureSpec& feature = args_.features[i];
        const Bytes& made = rows->column(feature.name).bytes;
        if (made.data() != buffers[i] + begin * feature.shape.bytes() ||
            made.size() != count * feature.shape.bytes()) {
          return absl::InternalError(
              absl::StrCat("the rows of ", feature.name, " are not where the batch has them"));
        }
      }
      if (forwarded_.columns.empty()) continue;
      for (size_t row = 0; row < count; ++row) Forward(*rows, static_cast<int64_t>(row));
    }
    return absl::OkStatus();
  }

  void Forward(const Table& from, int64_t row) {
    for (Column& column : forwarded_.columns) {
      column.AppendRow(from.column(column.type.name), row);
    }
  }

  std::string NoBatch(int64_t elements) const {
    if (elements == 0) return args_.empty;
    return absl::StrCat(args_.where, ": the input has ", elements,
                        elements == 1 ? " element" : " elements", ", fewer than one ",
                        args_.batch_title,
                        "; lower it, or add transform { repeat {} } before batch");
  }

  Elements elements_;
  const BatchesArgs args_;
  // Rows need no more than copying. Then gathered_ has, of each feature, where from; else loaded_
  // has what makes its numbers.
  bool gathers_ = false;
  std::vector<const Column*> gathered_;
  std::vector<Bytes*> loaded_;
  Table forwarded_;  // the forward_features of the last batch
  std::vector<Item> items_;
  bool at_start_ = true;
  std::span<const Item> batch_;  // of items_: the last batch, held for Where
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
      // A cache before it has dropped what nothing needs.
      const int from = in.Find(name);
      if (from >= 0 && !Makes(transform, name)) passed.back().emplace_back(from, i);
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
  {
    const InputTimes::Timer timer(times.get(), source_stage);
    records->Load(items, &tables[0]);
  }
  const auto where = [&](int64_t row) { return records->Where(records->OriginOf(items[row])); };
  for (size_t i = 0; i < transforms.size(); ++i) {
    Table& in = tables[i];
    Table& out = tables[i + 1];
    out.rows = in.rows;
    InputTimes::Timer timer(times.get(), times == nullptr ? 0 : stages[i]);
    timer.AddRows(in.rows);
    RETURN_IF_ERROR(transforms[i].apply(in, &out, where));
    for (const auto& [from, to] : passed[i]) out.columns[to].SwapValues(in.columns[from]);
  }
  return &tables.back();
}

absl::StatusOr<Elements> CacheElements(Elements elements, const Schema& keep,
                                       const std::string& where, int64_t memory_bytes) {
  constexpr char kRemedy[] = "leave cache out, or put it before what makes rows larger or more";
  const std::string what = absl::StrCat("the cache of ", where);
  const MemoryUse use(what, kRemedy);
  Table table = EmptyTable(keep);
  std::vector<Origin> origins;  // of each row
  std::array<Item, kRowsAtATime> items;
  while (true) {
    ASSIGN_OR_RETURN(const int64_t got, elements.items->Next(std::span(items)));
    const std::span<const Item> block = std::span(items).first(got);
    ASSIGN_OR_RETURN(const Table* const rows, elements.Load(block));
    for (const Item& item : block) origins.push_back(elements.records->OriginOf(item));
    table.Append(*rows);
    elements.records->Release(block);
    const int64_t held = table.bytes() + std::ssize(origins) * static_cast<int64_t>(sizeof(Origin));
    if (held > memory_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(where, ": does not fit in memory: the first ", table.rows, " rows take ",
                       BytesText(held), ", there is ", BytesText(memory_bytes), "; ", kRemedy));
    }
    if (got < kRowsAtATime) break;
  }
  Elements cached;
  const auto name_origin = [before = std::shared_ptr<Records>(std::move(elements.records))](
                               const Origin& origin) { return before->Where(origin); };
  cached.records =
      std::make_unique<TableRecords>(std::move(table), std::move(origins), name_origin);
  cached.items = std::make_unique<RecordItems>(cached.records.get());
  cached.times = elements.times;
  return cached;
}

std::unique_ptr<BatchSource> MakeBatches(Elements elements, BatchesArgs args) {
  const std::string what = absl::StrCat("a batch of ", args.batch_size, " elements");
  const std::string remedy = absl::StrCat("lower ", args.batch_size_name);
  const MemoryUse use(what, remedy);
  return std::make_unique<Batches>(std::move(elements), std::move(args));
}

}  // namespace tpurun
