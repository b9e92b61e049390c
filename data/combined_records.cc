#include "data/combined_records.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/row_chain.h"
#include "runtime/base/memory.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// One of the pipelines. Several threads may load rows at the same time.
class CombinedInput {
 public:
  explicit CombinedInput(Elements elements)
      : records_(std::move(elements.records)),
        items_(std::move(elements.items)),
        times_(std::move(elements.map.times)),
        source_stage_(elements.map.source_stage),
        stages_(std::move(elements.map.stages)),
        steps_(records_->schema(), std::move(elements.map.transforms)),
        first_(records_.get(), &steps_, 0, /*timed=*/false) {}

  Records& records() { return *records_; }
  const Records& records() const { return *records_; }
  ItemStream& items() { return *items_; }
  const ItemStream& items() const { return *items_; }
  const Schema& output() const { return steps_.output(); }

  // The rows of the items, valid until thread `thread` loads others.
  absl::StatusOr<const Table*> Load(std::span<const Item> items, int thread) {
    Lane& lane = LaneOf(thread);
    const double before = SecondsOf(lane.chain);
    const absl::Status status = Run(items, lane.chain);
    lane.seconds = SecondsOf(lane.chain) - before;
    RETURN_IF_ERROR(status);
    return &lane.chain.rows();
  }

  // The seconds of the last Load of the thread, if the input's stages are timed.
  double SecondsOf(int thread) { return LaneOf(thread).seconds; }

  // Adds the seconds to the stages. No thread may be in Load.
  void AddTimes() {
    if (times_ == nullptr) return;
    for (Lane& lane : lanes_) {
      times_->Add(source_stage_, 0, lane.chain.seconds()[0]);
      for (size_t i = 0; i < stages_.size(); ++i) {
        times_->Add(stages_[i], 0, lane.chain.seconds()[i + 1]);
      }
      lane.chain.ClearSeconds();
    }
  }

  // Counts rows that the stages will make.
  void AddRows(int64_t rows) {
    if (times_ == nullptr) return;
    for (const size_t stage : stages_) times_->Add(stage, rows, 0);
  }

 private:
  struct Lane {
    RowChain chain;
    double seconds = 0;  // of its last Load
  };

  absl::Status Run(std::span<const Item> items, RowChain& chain) {
    if (!chain.has_state()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!has_first_) {
        chain.MakeState();
        const absl::Status status = chain.Run(items);
        first_.TakeState(chain);
        has_first_ = true;
        return status;
      }
      chain.TakeState(first_);
    }
    return chain.Run(items);
  }

  static double SecondsOf(const RowChain& chain) {
    return std::accumulate(chain.seconds().begin(), chain.seconds().end(), 0.0);
  }

  Lane& LaneOf(int thread) {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (std::ssize(lanes_) <= thread) {
      const auto next = static_cast<int>(lanes_.size());
      lanes_.push_back({RowChain(records_.get(), &steps_, next, times_ != nullptr)});
    }
    return lanes_[thread];
  }

  const std::unique_ptr<Records> records_;
  const std::unique_ptr<ItemStream> items_;
  const std::shared_ptr<InputTimes> times_;
  const size_t source_stage_;
  const std::vector<size_t> stages_;
  const RowSteps steps_;
  std::mutex mutex_;        // guards the fields below; a lane is used by its thread alone
  std::deque<Lane> lanes_;  // [thread]
  RowChain first_;          // has the state after the first rows
  bool has_first_ = false;
};

// What an element is made of.
struct Parts {
  int32_t input = 0;        // that the element comes from, or that names its place
  std::vector<Item> items;  // of this input, or one of every input
  int64_t counted_bytes = 0;
};

// The values of `from` become those of `to`, whose rows may be made of several rows of `from`.
void CopyValues(const Column& from, Column* to) {
  to->Clear();
  to->bytes.Append(from.bytes.data(), from.bytes.size());
  to->row_dims = from.row_dims;
  to->row_ends = from.row_ends;
  for (size_t i = 0; i < from.strings.size(); ++i) to->AppendView(from.string(i));
}

void AppendRow(const Column& from, int64_t row, Column* to) {
  if (from.type.dtype != proto::STRING) return to->AppendRow(from, row);
  const int64_t elements = from.type.elements();
  for (int64_t i = 0; i < elements; ++i) to->AppendView(from.string(row * elements + i));
}

class CombinedRecords : public Records {
 public:
  const Schema& schema() const override { return schema_; }

  absl::StatusOr<int64_t> Next(std::span<Item> items) override {
    for (const auto& input : inputs_) input->AddTimes();
    size_t count = 0;
    while (count < items.size()) {
      const int32_t slot = NewSlot();
      const absl::StatusOr<bool> found = Draw(&slots_[slot]);
      CountBytes(slots_[slot]);
      if (!found.ok() || !*found) {
        free_slots_.push_back(slot);
        if (found.ok()) break;
        Release(items.first(count));
        return found.status();
      }
      items[count++] = {next_++, static_cast<uint32_t>(epoch_), slot};
    }
    for (const auto& input : inputs_) input->AddRows(static_cast<int64_t>(count) * NumParts());
    return count;
  }

  absl::Status Seek(int64_t epoch, int64_t index) override {
    if (epoch != epoch_ || index < next_) RETURN_IF_ERROR(Start(epoch));
    while (next_ < index) {
      Item item;
      ASSIGN_OR_RETURN(const int64_t got, Next(std::span(&item, 1)));
      if (got == 0) {
        return absl::DataLossError(absl::StrCat("the input has ", next_,
                                                " elements, but the position to restore is at ",
                                                index, ": were its files changed?"));
      }
      Release(std::span(&item, 1));
    }
    return absl::OkStatus();
  }

  void SaveItem(const Item& item, std::string* text) const override {
    Records::SaveItem(item, text);
    const Parts& parts = slots_[item.slot];
    absl::StrAppend(text, " ", parts.input, " ", parts.items.size());
    for (size_t i = 0; i < parts.items.size(); ++i) {
      input(InputOf(parts, i)).records().SaveItem(parts.items[i], text);
    }
  }

  absl::StatusOr<Item> RestoreItem(PositionReader& position) override {
    ASSIGN_OR_RETURN(Item item, Records::RestoreItem(position));
    ASSIGN_OR_RETURN(const int64_t of_input, position.Number());
    ASSIGN_OR_RETURN(const int64_t count, position.Number());
    if (of_input >= std::ssize(inputs_) || count != NumParts()) {
      return absl::DataLossError(absl::StrCat("damaged input position: an element of ", count,
                                              " parts of input ", of_input, ", want ", NumParts(),
                                              " parts of one of ", inputs_.size(), " inputs"));
    }
    Parts parts{.input = static_cast<int32_t>(of_input)};
    for (int64_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const Item part, input(InputOf(parts, i)).records().RestoreItem(position));
      parts.items.push_back(part);
    }
    item.slot = NewSlot();
    slots_[item.slot] = std::move(parts);
    CountBytes(slots_[item.slot]);
    return item;
  }

  absl::Status Hold(std::span<Item> items) override {
    absl::Status status;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      std::vector<Item*> held;
      for (const Item& item : items) {
        Parts& parts = slots_[item.slot];
        for (size_t part = 0; part < parts.items.size(); ++part) {
          if (InputOf(parts, part) == i) held.push_back(&parts.items[part]);
        }
      }
      status.Update(HoldOf(i, held));
    }
    return status;
  }

  void Release(std::span<const Item> items) override {
    for (const Item& item : items) {
      if (item.slot < 0) continue;
      ReleaseParts(slots_[item.slot]);
      free_slots_.push_back(item.slot);
    }
  }

  int64_t held_bytes() const override {
    int64_t bytes = parts_bytes_;
    for (const auto& input : inputs_) bytes += input->records().held_bytes();
    return bytes;
  }

  bool crosses_epochs() const override {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [](const auto& input) { return input->items().crosses_epochs(); });
  }

  double InnerSeconds(int thread) const override {
    double sum = 0;
    for (const auto& input : inputs_) sum += input->SecondsOf(thread);
    return sum;
  }

  void SavePosition(std::string* text) const override {
    SaveState(text);
    for (const auto& input : inputs_) input->items().SavePosition(text);
  }

  absl::Status RestorePosition(int64_t epoch, int64_t index, PositionReader& position) override {
    RETURN_IF_ERROR(Start(epoch));
    next_ = index;
    RETURN_IF_ERROR(RestoreState(position));
    for (const auto& input : inputs_) RETURN_IF_ERROR(input->items().RestorePosition(position));
    return absl::OkStatus();
  }

  // The file of an origin has the number of the input.
  Origin OriginOf(const Item& item) const override {
    const Parts& parts = slots_[item.slot];
    Origin origin = inputs_[parts.input]->records().OriginOf(parts.items[0]);
    origin.file = origin.file * static_cast<int32_t>(inputs_.size()) + parts.input;
    return origin;
  }
  std::string Where(const Origin& origin) const override {
    const auto count = static_cast<int32_t>(inputs_.size());
    Origin of_input = origin;
    of_input.file = origin.file / count;
    return inputs_[origin.file % count]->records().Where(of_input);
  }

 protected:
  CombinedRecords(std::vector<Elements>&& inputs, Schema schema) : schema_(std::move(schema)) {
    for (Elements& input : inputs) {
      inputs_.push_back(std::make_unique<CombinedInput>(std::move(input)));
    }
  }

  int64_t epoch() const { return epoch_; }
  int64_t next() const { return next_; }
  size_t num_inputs() const { return inputs_.size(); }
  CombinedInput& input(size_t index) { return *inputs_[index]; }
  const CombinedInput& input(size_t index) const { return *inputs_[index]; }
  const Parts& PartsOf(const Item& item) const { return slots_[item.slot]; }

  // The number of items that an element is made of, and the input that number `part` of them is of.
  virtual int64_t NumParts() const = 0;
  virtual size_t InputOf(const Parts& parts, size_t part) const { return parts.input; }
  // Draws the next element. False at the end.
  virtual absl::StatusOr<bool> Draw(Parts* parts) = 0;
  // Called at the start of a pass, of whose inputs nothing is drawn.
  virtual void StartPass() {}
  virtual void ReleaseParts(const Parts& parts) = 0;
  // The words of a position that are not those of the inputs.
  virtual void SaveState(std::string* text) const {}
  virtual absl::Status RestoreState(PositionReader& position) { return absl::OkStatus(); }

  // Makes items of an input loadable.
  virtual absl::Status HoldOf(size_t index, std::span<Item* const> items) {
    std::vector<Item> held;
    for (const Item* item : items) held.push_back(*item);
    const absl::Status status = inputs_[index]->records().Hold(held);
    for (size_t i = 0; i < items.size(); ++i) *items[i] = held[i];
    return status;
  }

  // Draws the next element of an input. False at its end.
  absl::StatusOr<bool> DrawOf(size_t index, Item* item) {
    ASSIGN_OR_RETURN(const int64_t got, inputs_[index]->items().Next(std::span(item, 1)));
    return got == 1;
  }

 private:
  absl::Status Start(int64_t epoch) {
    epoch_ = epoch;
    next_ = 0;
    StartPass();
    for (const auto& input : inputs_) RETURN_IF_ERROR(input->items().StartEpoch(epoch));
    return absl::OkStatus();
  }

  // Adds what the items of a slot take now.
  void CountBytes(Parts& parts) {
    const auto bytes = static_cast<int64_t>(parts.items.capacity() * sizeof(Item));
    parts_bytes_ += bytes - parts.counted_bytes;
    parts.counted_bytes = bytes;
  }

  int32_t NewSlot() {
    if (free_slots_.empty()) {
      slots_.emplace_back();
      parts_bytes_ += sizeof(Parts);
      return static_cast<int32_t>(slots_.size() - 1);
    }
    const int32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  const Schema schema_;
  std::vector<std::unique_ptr<CombinedInput>> inputs_;
  std::vector<Parts> slots_;
  std::vector<int32_t> free_slots_;
  int64_t epoch_ = 0;
  int64_t next_ = 0;         // the index of the next element
  int64_t parts_bytes_ = 0;  // of slots_ and their items
};

class ZippedRecords : public CombinedRecords {
 public:
  explicit ZippedRecords(std::vector<Elements> inputs)
      : CombinedRecords(std::move(inputs), SchemaOf(inputs)) {}

  absl::Status Load(std::span<const Item> items, int thread, Table* rows) override {
    size_t column = 0;
    std::vector<Item> of_input(items.size());
    for (size_t i = 0; i < num_inputs(); ++i) {
      for (size_t row = 0; row < items.size(); ++row) of_input[row] = PartsOf(items[row]).items[i];
      ASSIGN_OR_RETURN(const Table* const loaded, input(i).Load(of_input, thread));
      for (const Column& from : loaded->columns) CopyValues(from, &rows->columns[column++]);
    }
    rows->rows = std::ssize(items);
    return absl::OkStatus();
  }

  std::string Where(const Origin& origin) const override {
    return absl::StrCat(CombinedRecords::Where(origin), ", zipped");
  }

 private:
  static Schema SchemaOf(const std::vector<Elements>& inputs) {
    Schema schema;
    for (const Elements& input : inputs) {
      schema.insert(schema.end(), input.output().begin(), input.output().end());
    }
    return schema;
  }

  int64_t NumParts() const override { return static_cast<int64_t>(num_inputs()); }
  size_t InputOf(const Parts& parts, size_t part) const override { return part; }

  absl::StatusOr<bool> Draw(Parts* parts) override {
    parts->items.resize(num_inputs());
    for (size_t i = 0; i < num_inputs(); ++i) {
      const absl::StatusOr<bool> found = DrawOf(i, &parts->items[i]);
      if (found.ok() && *found) continue;
      for (size_t drawn = 0; drawn < i; ++drawn) ReleasePart(*parts, drawn);
      return found;
    }
    return true;
  }

  void ReleasePart(const Parts& parts, size_t index) {
    input(index).records().Release(std::span(&parts.items[index], 1));
  }
  void ReleaseParts(const Parts& parts) override {
    for (size_t i = 0; i < num_inputs(); ++i) ReleasePart(parts, i);
  }
};

class SampledRecords : public CombinedRecords {
 public:
  SampledRecords(std::vector<Elements> inputs, const proto::SampleFromDatasets& sample,
                 uint64_t seed)
      : CombinedRecords(std::move(inputs), inputs[0].output()),
        weights_(sample.weight().begin(), sample.weight().end()),
        stops_(sample.stop_on_empty_dataset()),
        seed_(seed) {
    if (weights_.empty()) weights_.assign(num_inputs(), 1);
    StartPass();
  }

  absl::Status Load(std::span<const Item> items, int thread, Table* rows) override {
    std::vector<std::vector<Item>> of_input(num_inputs());
    for (const Item& item : items) {
      of_input[PartsOf(item).input].push_back(PartsOf(item).items[0]);
    }
    std::vector<const Table*> loaded(num_inputs());
    for (size_t i = 0; i < num_inputs(); ++i) {
      if (of_input[i].empty()) continue;
      ASSIGN_OR_RETURN(loaded[i], input(i).Load(of_input[i], thread));
    }
    for (size_t c = 0; c < rows->columns.size(); ++c) {
      Column& to = rows->columns[c];
      to.Clear();
      std::vector<int64_t> next(num_inputs(), 0);
      for (const Item& item : items) {
        const int32_t from = PartsOf(item).input;
        AppendRow(loaded[from]->columns[c], next[from]++, &to);
      }
    }
    rows->rows = std::ssize(items);
    return absl::OkStatus();
  }

 private:
  void StartPass() override { ended_.assign(num_inputs(), false); }
  int64_t NumParts() const override { return 1; }

  absl::StatusOr<bool> Draw(Parts* parts) override {
    const auto lanes = PhiloxBlock(seed_, StreamOf("sample_from_datasets"),
                                   static_cast<uint32_t>(epoch()), 0, next());
    const double draw =
        static_cast<double>(static_cast<uint64_t>(lanes[0]) << 32 | lanes[1]) * 0x1p-64;
    parts->items.resize(1);
    while (true) {
      parts->input = Choose(draw);
      if (parts->input < 0) return false;
      ASSIGN_OR_RETURN(const bool found, DrawOf(parts->input, &parts->items[0]));
      if (found) return true;
      if (stops_) return false;
      ended_[parts->input] = true;
    }
  }

  // The input that `draw`, in [0, 1), falls on, of those that have not ended. -1 if all have.
  int32_t Choose(double draw) const {
    double sum = 0;
    for (size_t i = 0; i < num_inputs(); ++i) sum += ended_[i] ? 0 : weights_[i];
    double left = draw * sum;
    int32_t chosen = -1;
    for (size_t i = 0; i < num_inputs(); ++i) {
      if (ended_[i]) continue;
      chosen = static_cast<int32_t>(i);
      if (left < weights_[i]) break;
      left -= weights_[i];
    }
    return chosen;
  }

  void ReleaseParts(const Parts& parts) override {
    input(parts.input).records().Release(parts.items);
  }

  void SaveState(std::string* text) const override {
    absl::StrAppend(text, " sample");
    for (size_t i = 0; i < num_inputs(); ++i) absl::StrAppend(text, " ", ended_[i] ? 1 : 0);
  }

  absl::Status RestoreState(PositionReader& position) override {
    RETURN_IF_ERROR(position.Name("sample"));
    for (size_t i = 0; i < num_inputs(); ++i) {
      ASSIGN_OR_RETURN(const int64_t ended, position.Number());
      ended_[i] = ended != 0;
    }
    return absl::OkStatus();
  }

  std::vector<double> weights_;
  const bool stops_;
  const uint64_t seed_;
  std::vector<bool> ended_;
};

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

std::unique_ptr<Records> MakeZippedRecords(std::vector<Elements> inputs) {
  return std::make_unique<ZippedRecords>(std::move(inputs));
}

std::unique_ptr<Records> MakeSampledRecords(std::vector<Elements> inputs,
                                            const proto::SampleFromDatasets& sample,
                                            uint64_t seed) {
  return std::make_unique<SampledRecords>(std::move(inputs), sample, seed);
}

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
