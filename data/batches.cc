#include "data/batches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/row_map.h"
#include "data/transforms/mixup.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/spec/dtypes.h"

namespace tpurun {
namespace {

// A position is "SIGNATURE @2 WORDS": the version and the words of item_stream.h. Version 1 is
// written "SIGNATURE @ WORDS".
constexpr char kPositionMark[] = " @";
// Behind the signature of an input with an order_seed. Positions of November 2026 lack it.
constexpr char kOrderSeed[] = " | tf_random_seed ";

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

// Takes the seed off the end of a saved signature. nullopt: it has none.
std::optional<std::string> TakeOrderSeed(std::string* signature) {
  const size_t begin = signature->rfind(kOrderSeed);
  if (begin == std::string::npos) return std::nullopt;
  std::string seed = signature->substr(begin + std::strlen(kOrderSeed));
  signature->erase(begin);
  return seed;
}

// What `cache` has in memory twice, for each thread.
constexpr int64_t kCachedBytes = 16 << 20;

// Rows that `cache` makes at a time, for each thread.
int64_t CachedAtATime(const Schema& schema) {
  int64_t rows = 512;
  for (const ColumnType& type : schema) {
    const int64_t row_bytes = type.varies() ? kCachedBytes / 8 : type.row_bytes();
    rows = std::min(rows, kCachedBytes / std::max<int64_t>(row_bytes, 1));
  }
  return std::max<int64_t>(rows, 1);
}

// Draws the next elements to cache: fewer than items.size() if their records are large, and at the
// end, which sets *ended.
absl::StatusOr<int64_t> DrawToCache(const Elements& elements, std::span<Item> items, bool* ended) {
  constexpr int64_t kDrawnAtATime = 16;
  const int64_t bytes_before = elements.records->held_bytes();
  const int64_t most_bytes = kCachedBytes * elements.map.settings.num_threads;
  int64_t drawn = 0;
  while (drawn < std::ssize(items) && elements.records->held_bytes() - bytes_before < most_bytes) {
    const int64_t wanted = std::min(kDrawnAtATime, std::ssize(items) - drawn);
    ASSIGN_OR_RETURN(const int64_t got, elements.items->Next(items.subspan(drawn, wanted)));
    drawn += got;
    *ended = got < wanted;
    if (*ended) break;
  }
  return drawn;
}

class Batches : public BatchSource {
 public:
  Batches(Elements elements, BatchesArgs args)
      : records_(std::move(elements.records)),
        stream_(std::move(elements.items)),
        times_(elements.map.times),
        skipped_(elements.map.settings.skipped),
        map_(records_.get(), std::move(elements.map)),
        args_(std::move(args)),
        loads_(LoadsAll() ? RowRange() : args_.rows),
        items_(args_.batch_size * args_.batches_per_step) {
    for (size_t i = 0; i < args_.features.size() && loads_.all() != args_.rows.all(); ++i) {
      whole_step_.emplace_back(std::ssize(items_) * RowBytes(i));
    }
    const Table* const table = records_->table();
    gathers_ = table != nullptr && !map_.has_transforms();
    loaded_.resize(map_.num_threads());
    for (const FeatureSpec& feature : args_.features) {
      if (gathers_) {
        gathered_.push_back(&table->columns[table->Find(feature.name)]);
        continue;
      }
      for (int thread = 0; thread < map_.num_threads(); ++thread) {
        loaded_[thread].push_back(&map_.NumbersOf(feature.name, thread));
      }
    }
    for (const std::string& name : args_.forward_features) {
      forwarded_.columns.push_back({.type = map_.output()[FindColumn(map_.output(), name)]});
    }
  }

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    if (loads_.all() == args_.rows.all()) return LoadNext(buffers);
    std::vector<std::byte*> whole_step;
    for (std::vector<std::byte>& feature : whole_step_) whole_step.push_back(feature.data());
    ASSIGN_OR_RETURN(const int64_t rows, LoadNext(whole_step));
    const int64_t begin = args_.rows.begin, count = args_.rows.CountIn(rows);
    for (size_t i = 0; i < whole_step.size(); ++i) {
      std::copy_n(whole_step[i] + begin * RowBytes(i), count * RowBytes(i), buffers[i]);
    }
    return rows;
  }

  void SetCancelled(bool cancelled) override { map_.SetCancelled(cancelled); }

  std::string Position() const override {
    std::string position = args_.signature;
    if (args_.order_seed.has_value()) absl::StrAppend(&position, kOrderSeed, *args_.order_seed);
    absl::StrAppend(&position, kPositionMark, kPositionVersion);
    stream_->SavePosition(&position);
    return position;
  }

  absl::Status Restore(const std::string& position) override {
    const size_t mark = position.rfind(kPositionMark);
    if (mark == std::string::npos) {
      return absl::DataLossError(absl::StrCat("damaged input position: ", Quote(position)));
    }
    std::string signature = WithoutFileNames(position.substr(0, mark));
    const std::optional<std::string> seed = TakeOrderSeed(&signature);
    if (signature != args_.signature) {
      return absl::InvalidArgumentError(
          absl::StrCat("the saved input position belongs to another input: got ", Quote(signature),
                       ", want ", Quote(args_.signature)));
    }
    if (seed.has_value() && args_.order_seed.has_value() &&
        *seed != absl::StrCat(*args_.order_seed)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the saved input position is in an order that another seed has drawn: got "
                       "tf_random_seed ",
                       *args_.order_seed, ", want ", *seed));
    }
    ReleaseBatch();
    const std::string words = position.substr(mark + std::strlen(kPositionMark));
    const std::string version = words.substr(0, words.find(' '));
    if (!version.empty() && version != absl::StrCat(kPositionVersion)) {
      return absl::DataLossError(absl::StrCat("the saved input position is of version ",
                                              Quote(version), ", want 1 or ", kPositionVersion));
    }
    PositionReader reader(std::string_view(words).substr(version.size()),
                          version.empty() ? 1 : kPositionVersion);
    RETURN_IF_ERROR(stream_->RestorePosition(reader));
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

  int bucket() const override { return args_.bucket == nullptr ? 0 : *args_.bucket; }

  std::string Where(int64_t row) const override {
    if (row < 0 || row >= std::ssize(batch_)) return "the start of the input";
    return records_->Where(records_->OriginOf(batch_[row]));
  }

 private:
  // Next, for the rows of loads_.
  absl::StatusOr<int64_t> LoadNext(BatchBuffers buffers) {
    InputTimes::Timer timer(times_.get(), args_.stage);
    ReleaseBatch();
    for (Column& column : forwarded_.columns) column.Clear();
    ASSIGN_OR_RETURN(const int64_t got, Fill(buffers));
    const int64_t kept = args_.drop_remainder ? got / args_.batch_size * args_.batch_size : got;
    batch_ = std::span(items_).first(got);
    if (kept == 0) {
      ReleaseBatch();
      if (!at_start_) return 0;
      at_start_ = false;
      RETURN_IF_ERROR(args_.on_empty(NoBatch(got + dropped_)));
      return 0;
    }
    at_start_ = false;
    timer.AddRows(kept);
    if (args_.mixup.has_value()) Mix(buffers, kept);
    return kept;
  }

  void ReleaseBatch() {
    records_->Release(batch_);
    batch_ = {};
  }

  // Loads the next rows into the buffers. Those that are skipped make room for others.
  absl::StatusOr<int64_t> Fill(BatchBuffers buffers) {
    int64_t count = 0;
    while (count < std::ssize(items_)) {
      const int64_t wanted = std::ssize(items_) - count;
      ASSIGN_OR_RETURN(const int64_t got, stream_->Next(std::span(items_).subspan(count)));
      // What is dropped behind the last whole batch need not be loaded.
      const int64_t rest = args_.drop_remainder && skipped_ == nullptr && got < wanted
                               ? (count + got) % args_.batch_size
                               : 0;
      records_->Release(std::span(items_).subspan(count + got - rest, rest));
      batch_ = std::span(items_).first(count + got - rest);
      RETURN_IF_ERROR(LoadRows(buffers, count));
      count = RemoveSkipped(buffers, count);
      dropped_ = rest;
      if (got < wanted) break;
    }
    return count;
  }

  // Loads the rows of batch_ from `first` on, of those in loads_.
  absl::Status LoadRows(BatchBuffers buffers, int64_t first) {
    const int64_t begin = std::clamp(loads_.begin, first, std::ssize(batch_));
    const int64_t end =
        std::min(std::ssize(batch_), loads_.begin + loads_.CountIn(std::ssize(batch_)));
    const std::span<const Item> items = batch_.subspan(begin, std::max<int64_t>(end - begin, 0));
    const int64_t at = begin - loads_.begin;  // in the buffers
    if (gathers_) {
      for (size_t i = 0; i < gathered_.size(); ++i) {
        GatherRows(*gathered_[i], items, buffers[i] + at * RowBytes(i));
      }
      for (const Item& item : items) Forward(*records_->table(), item.id, &forwarded_);
      if (skipped_ != nullptr && !items.empty()) skipped_->Keep();
      return absl::OkStatus();
    }
    const auto lend = [&](const RowMap::Block& block) {
      for (size_t i = 0; i < args_.features.size(); ++i) {
        loaded_[block.thread][i]->Lend(buffers[i] + (at + block.begin) * RowBytes(i),
                                       block.count * RowBytes(i));
      }
    };
    const bool forwards = !forwarded_.columns.empty();
    if (forwards) forwarded_blocks_.assign(items.size(), {});
    const auto check = [&](const RowMap::Block& block, const Table& rows) -> absl::Status {
      for (size_t i = 0; i < args_.features.size(); ++i) {
        const FeatureSpec& feature = args_.features[i];
        const Bytes& made = rows.column(feature.name).bytes;
        if (made.data() != buffers[i] + (at + block.begin) * RowBytes(i) ||
            std::ssize(made) != block.count * RowBytes(i)) {
          return absl::InternalError(
              absl::StrCat("the rows of ", feature.name, " are not where the batch has them"));
        }
      }
      if (!forwards) return absl::OkStatus();
      Table& forwarded = forwarded_blocks_[block.begin];
      for (const Column& column : forwarded_.columns) forwarded.columns.push_back({column.type});
      for (int64_t row = 0; row < block.count; ++row) Forward(rows, row, &forwarded);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(map_.Run(items, lend, check));
    for (const Table& forwarded : forwarded_blocks_) {
      if (!forwarded.columns.empty()) forwarded_.Append(forwarded);
    }
    return absl::OkStatus();
  }

  // Closes the gaps among the rows of batch_ from `first` on. Returns the number of rows that stay.
  int64_t RemoveSkipped(BatchBuffers buffers, int64_t first) {
    const std::vector<int64_t>& skipped = map_.skipped();
    if (gathers_ || skipped.empty()) return std::ssize(batch_);
    int64_t stay = first + skipped[0];
    for (size_t s = 0; s < skipped.size(); ++s) {
      const int64_t gap = first + skipped[s];
      const int64_t next = s + 1 < skipped.size() ? first + skipped[s + 1] : std::ssize(batch_);
      records_->Release(batch_.subspan(gap, 1));
      const int64_t count = next - gap - 1;
      std::copy_n(items_.begin() + gap + 1, count, items_.begin() + stay);
      for (size_t i = 0; i < args_.features.size(); ++i) {
        std::memmove(buffers[i] + stay * RowBytes(i), buffers[i] + (gap + 1) * RowBytes(i),
                     count * RowBytes(i));
      }
      stay += count;
    }
    batch_ = batch_.first(stay);
    return stay;
  }

  // Mixes the rows of each batch of the step.
  void Mix(BatchBuffers buffers, int64_t rows) {
    for (int64_t begin = 0; begin < rows; begin += args_.batch_size) {
      const int64_t count = std::min(args_.batch_size, rows - begin);
      map_.pool().ForEach((count + 1) / 2, [&](int64_t i, int) {
        const int64_t first = begin + i, last = begin + count - 1 - i;
        const auto lambda = [&](int64_t row) {
          return DrawMixupLambda(args_.mixup->alpha(), args_.seed, records_->IdOf(batch_[row]));
        };
        for (size_t f = 0; f < args_.features.size(); ++f) {
          const auto& mixed = args_.mixup->feature();
          if (std::find(mixed.begin(), mixed.end(), args_.features[f].name) == mixed.end())
            continue;
          const auto row = [&](int64_t index) {
            return std::span(reinterpret_cast<float*>(buffers[f] + index * RowBytes(f)),
                             RowBytes(f) / sizeof(float));
          };
          if (first != last) MixRows(lambda(first), row(first), lambda(last), row(last));
        }
      });
    }
  }

  // Whether it depends on other rows which rows args_.rows are or what is in them, or all rows are
  // forwarded.
  bool LoadsAll() const {
    return skipped_ != nullptr || args_.mixup.has_value() || !args_.forward_features.empty();
  }

  int64_t RowBytes(size_t feature) const { return args_.features[feature].shape.bytes(); }

  static void Forward(const Table& from, int64_t row, Table* to) {
    for (Column& column : to->columns) column.AppendRow(from.column(column.type.name), row);
  }

  std::string NoBatch(int64_t elements) const {
    if (elements == 0) return args_.empty;
    return absl::StrCat(args_.where, ": the input has ", elements,
                        elements == 1 ? " element" : " elements", ", fewer than one ",
                        args_.batch_title,
                        "; lower it, or add transform { repeat {} } before batch");
  }

  const std::unique_ptr<Records> records_;
  const std::unique_ptr<ItemStream> stream_;
  const std::shared_ptr<InputTimes> times_;
  const std::shared_ptr<SkippedRows> skipped_;  // nullptr: a row that is refused is an error
  RowMap map_;
  const BatchesArgs args_;
  // The rows to load: args_.rows, or all.
  const RowRange loads_;
  std::vector<std::vector<std::byte>> whole_step_;  // of each feature, if loads_ is not args_.rows
  // Rows need no more than copying. Then gathered_ has, of each feature, where from; else loaded_
  // has, of each thread and feature, what makes its numbers.
  bool gathers_ = false;
  std::vector<const Column*> gathered_;
  std::vector<std::vector<Bytes*>> loaded_;
  Table forwarded_;                      // the forward_features of the last batch
  std::vector<Table> forwarded_blocks_;  // of each block, at the number of its first row
  std::vector<Item> items_;
  bool at_start_ = true;
  int64_t dropped_ = 0;          // elements behind the last whole batch, which were not loaded
  std::span<const Item> batch_;  // of items_: the last batch, held for Where
};

}  // namespace

absl::StatusOr<Elements> CacheElements(Elements elements, const Schema& keep,
                                       const std::string& where, int64_t memory_bytes) {
  constexpr char kRemedy[] = "leave cache out, or put it before what makes rows larger or more";
  const std::string what = absl::StrCat("the cache of ", where);
  const MemoryUse use(what, kRemedy);
  Table table = EmptyTable(keep);
  std::vector<RowSource> sources;  // of each row
  const std::shared_ptr<InputTimes> times = elements.map.times;
  const MapSettings settings = elements.map.settings;
  RowMap map(elements.records.get(), std::move(elements.map));
  std::vector<Item> items(CachedAtATime(keep) * settings.num_threads);
  std::vector<Table> blocks(items.size());  // at the number of their first row
  bool ended = false;
  while (!ended) {
    ASSIGN_OR_RETURN(const int64_t got, DrawToCache(elements, items, &ended));
    const std::span<const Item> block_items = std::span(items).first(got);
    const auto keep_block = [&](const RowMap::Block& block, const Table& rows) {
      blocks[block.begin] = EmptyTable(keep);
      blocks[block.begin].Append(rows);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(map.Run(block_items, nullptr, keep_block));
    auto skipped = map.skipped().begin();
    for (int64_t i = 0; i < got; ++i) {
      if (skipped != map.skipped().end() && *skipped == i) {
        ++skipped;
        continue;
      }
      const Item& item = items[i];
      sources.push_back({elements.records->OriginOf(item), elements.records->IdOf(item)});
    }
    elements.records->Release(block_items);
    for (Table& block : blocks) {
      if (block.columns.empty()) continue;
      table.Append(block);
      block = {};
      const int64_t held =
          table.bytes() + std::ssize(sources) * static_cast<int64_t>(sizeof(RowSource));
      if (held > memory_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat(where, ": does not fit in memory: the first ", table.rows, " rows take ",
                         BytesText(held), ", there is ", BytesText(memory_bytes), "; ", kRemedy));
      }
    }
  }
  Elements cached;
  const auto name_origin = [before = std::shared_ptr<Records>(std::move(elements.records))](
                               const Origin& origin) { return before->Where(origin); };
  cached.records =
      std::make_unique<TableRecords>(std::move(table), std::move(sources), name_origin);
  cached.items = std::make_unique<RecordItems>(cached.records.get());
  cached.map = {.settings = settings, .times = times};
  return cached;
}

std::unique_ptr<BatchSource> MakeBatches(Elements elements, BatchesArgs args) {
  const std::string what = absl::StrCat("a batch of ", args.batch_size, " elements");
  const std::string remedy = absl::StrCat("lower ", args.batch_size_name);
  const MemoryUse use(what, remedy);
  return std::make_unique<Batches>(std::move(elements), std::move(args));
}

}  // namespace tpurun
