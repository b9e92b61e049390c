#include "data/combined_records.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/item_stream.h"
#include "runtime/base/status.h"

namespace tpurun {

// ---------------------------------------------------------------------------------- an input

CombinedInput::CombinedInput(Elements elements)
    : records_(std::move(elements.records)),
      items_(std::move(elements.items)),
      times_(std::move(elements.map.times)),
      source_stage_(elements.map.source_stage),
      stages_(std::move(elements.map.stages)),
      steps_(records_->schema(), std::move(elements.map.transforms)),
      first_(records_.get(), &steps_, 0, /*timed=*/false) {}

absl::StatusOr<const Table*> CombinedInput::Load(std::span<const Item> items, int thread) {
  Lane& lane = LaneOf(thread);
  const double before = lane.chain.Seconds();
  const absl::StatusOr<const Table*> rows = RunBlocks(items, lane);
  lane.seconds = lane.chain.Seconds() - before;
  return rows;
}

absl::StatusOr<const Table*> CombinedInput::RunBlocks(std::span<const Item> items, Lane& lane) {
  const auto most_rows = static_cast<size_t>(steps_.most_rows);
  if (!steps_.varies || items.size() <= most_rows) {
    RETURN_IF_ERROR(Run(items, lane));
    return &lane.chain.rows();
  }
  lane.joined.rows = 0;
  for (Column& column : lane.joined.columns) column.Clear();
  while (!items.empty()) {
    const size_t count = std::min(most_rows, items.size());
    RETURN_IF_ERROR(Run(items.first(count), lane));
    lane.joined.Append(lane.chain.rows());
    items = items.subspan(count);
  }
  return &lane.joined;
}

void CombinedInput::AddTimes() {
  if (times_ == nullptr) return;
  for (Lane& lane : lanes_) lane.chain.AddTimes(source_stage_, stages_, times_.get());
}

void CombinedInput::AddRows(int64_t rows) {
  if (times_ == nullptr) return;
  for (const size_t stage : stages_) times_->Add(stage, rows, 0);
}

absl::Status CombinedInput::Run(std::span<const Item> items, Lane& lane) {
  if (!lane.has_first) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (first_.has_state()) {
      lane.chain.TakeState(first_);
    } else {
      lane.chain.MakeState();
    }
    if (!has_first_) {
      const absl::Status status = lane.chain.Run(items);
      first_.TakeState(lane.chain);
      lane.has_first = has_first_ = status.ok();
      return status;
    }
    lane.has_first = true;
  }
  return lane.chain.Run(items);
}

CombinedInput::Lane& CombinedInput::LaneOf(int thread) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (std::ssize(lanes_) <= thread) {
    const auto next = static_cast<int>(lanes_.size());
    lanes_.push_back({.chain = RowChain(records_.get(), &steps_, next, times_ != nullptr),
                      .joined = EmptyTable(steps_.output())});
  }
  return lanes_[thread];
}

// ---------------------------------------------------------------------------------- the records

CombinedRecords::CombinedRecords(std::vector<Elements>&& inputs, Schema schema)
    : schema_(std::move(schema)) {
  for (Elements& input : inputs) {
    inputs_.push_back(std::make_unique<CombinedInput>(std::move(input)));
  }
}

void CombinedRecords::CopyValues(const Column& from, Column* to) {
  to->Clear();
  to->bytes.Append(from.bytes.data(), from.bytes.size());
  to->row_dims = from.row_dims;
  to->row_ends = from.row_ends;
  for (size_t i = 0; i < from.strings.size(); ++i) to->AppendView(from.string(i));
}

absl::StatusOr<int64_t> CombinedRecords::Next(std::span<Item> items) {
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

absl::Status CombinedRecords::Seek(int64_t epoch, int64_t index) {
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

void CombinedRecords::SaveItem(const Item& item, std::string* text) const {
  Records::SaveItem(item, text);
  const Parts& parts = slots_[item.slot];
  absl::StrAppend(text, " ", parts.input, " ", parts.items.size());
  for (size_t i = 0; i < parts.items.size(); ++i) {
    input(InputOf(parts, i)).records().SaveItem(parts.items[i], text);
  }
}

absl::StatusOr<Item> CombinedRecords::RestoreItem(PositionReader& position) {
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

absl::Status CombinedRecords::Hold(std::span<Item> items) {
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

void CombinedRecords::Release(std::span<const Item> items) {
  for (const Item& item : items) {
    if (item.slot < 0) continue;
    ReleaseParts(slots_[item.slot]);
    free_slots_.push_back(item.slot);
  }
}

int64_t CombinedRecords::held_bytes() const {
  int64_t bytes = parts_bytes_;
  for (const auto& input : inputs_) bytes += input->records().held_bytes();
  return bytes;
}

bool CombinedRecords::crosses_epochs() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [](const auto& input) { return input->items().crosses_epochs(); });
}

double CombinedRecords::InnerSeconds(int thread) const {
  double sum = 0;
  for (const auto& input : inputs_) sum += input->SecondsOf(thread);
  return sum;
}

void CombinedRecords::SavePosition(std::string* text) const {
  SaveState(text);
  for (const auto& input : inputs_) input->items().SavePosition(text);
}

absl::Status CombinedRecords::RestorePosition(int64_t epoch, int64_t index,
                                              PositionReader& position) {
  RETURN_IF_ERROR(Start(epoch));
  next_ = index;
  RETURN_IF_ERROR(RestoreState(position));
  for (const auto& input : inputs_) RETURN_IF_ERROR(input->items().RestorePosition(position));
  return absl::OkStatus();
}

Origin CombinedRecords::OriginOf(const Item& item) const {
  const Parts& parts = slots_[item.slot];
  Origin origin = inputs_[parts.input]->records().OriginOf(parts.items[0]);
  origin.file = origin.file * static_cast<int32_t>(inputs_.size()) + parts.input;
  return origin;
}

std::string CombinedRecords::Where(const Origin& origin) const {
  const auto count = static_cast<int32_t>(inputs_.size());
  Origin of_input = origin;
  of_input.file = origin.file / count;
  return inputs_[origin.file % count]->records().Where(of_input);
}

absl::StatusOr<bool> CombinedRecords::DrawOf(size_t index, Item* item) {
  ASSIGN_OR_RETURN(const int64_t got, inputs_[index]->items().Next(std::span(item, 1)));
  return got == 1;
}

absl::Status CombinedRecords::HoldOf(size_t index, std::span<Item* const> items) {
  std::vector<Item> held;
  for (const Item* item : items) held.push_back(*item);
  const absl::Status status = inputs_[index]->records().Hold(held);
  for (size_t i = 0; i < items.size(); ++i) *items[i] = held[i];
  return status;
}

absl::Status CombinedRecords::Start(int64_t epoch) {
  epoch_ = epoch;
  next_ = 0;
  StartPass();
  for (const auto& input : inputs_) RETURN_IF_ERROR(input->items().StartEpoch(epoch));
  return absl::OkStatus();
}

void CombinedRecords::CountBytes(Parts& parts) {
  const auto bytes = static_cast<int64_t>(parts.items.capacity() * sizeof(Item));
  parts_bytes_ += bytes - parts.counted_bytes;
  parts.counted_bytes = bytes;
}

int32_t CombinedRecords::NewSlot() {
  if (free_slots_.empty()) {
    slots_.emplace_back();
    parts_bytes_ += sizeof(Parts);
    return static_cast<int32_t>(slots_.size() - 1);
  }
  const int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

}  // namespace tpurun
