#include "data/item_stream.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {

PositionReader::PositionReader(std::string_view text, int version)
    : version_(version),
      words_(absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty())) {}

absl::Status PositionReader::Name(std::string_view name) {
  if (next_ < words_.size() && words_[next_] == name) {
    ++next_;
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("damaged input position: got \"",
                                          next_ < words_.size() ? words_[next_] : "", "\" as word ",
                                          next_, ", want \"", std::string(name), "\""));
}

absl::StatusOr<int64_t> PositionReader::Number() {
  const std::optional<int64_t> number =
      next_ < words_.size() ? ParseInt64(words_[next_]) : std::nullopt;
  if (number.has_value() && *number >= 0) {
    ++next_;
    return *number;
  }
  return absl::DataLossError(absl::StrCat("damaged input position: got \"",
                                          next_ < words_.size() ? words_[next_] : "", "\" as word ",
                                          next_, ", want a number >= 0"));
}

absl::Status PositionReader::End() const {
  if (next_ == words_.size()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("damaged input position: ", words_.size() - next_, " words too many"));
}

absl::Status RecordItems::StartEpoch(int64_t epoch) {
  epoch_ = epoch;
  next_ = 0;
  return records_->Seek(epoch_, next_);
}

absl::StatusOr<int64_t> RecordItems::Next(std::span<Item> items) {
  ASSIGN_OR_RETURN(const int64_t count, records_->Next(items));
  next_ += count;
  return count;
}

void RecordItems::SavePosition(std::string* text) const {
  absl::StrAppend(text, " records ", epoch_, " ", next_);
  records_->SavePosition(text);
}

absl::Status RecordItems::RestorePosition(PositionReader& position) {
  RETURN_IF_ERROR(position.Name("records"));
  ASSIGN_OR_RETURN(epoch_, position.Number());
  ASSIGN_OR_RETURN(next_, position.Number());
  return records_->RestorePosition(epoch_, next_, position);
}

absl::StatusOr<int64_t> DropItems(ItemStream& stream, Records& records, int64_t count) {
  std::array<Item, 256> items;
  int64_t dropped = 0;
  while (dropped < count) {
    const size_t wanted = std::min<int64_t>(items.size(), count - dropped);
    ASSIGN_OR_RETURN(const int64_t got, stream.Next(std::span(items).first(wanted)));
    records.Release(std::span(items).first(got));
    dropped += got;
    if (got < static_cast<int64_t>(wanted)) break;
  }
  return dropped;
}

}  // namespace tpurun
