#include "data/init/column.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/ascii.h"
#include "data/csv.h"
#include "data/transforms/words.h"

namespace tpurun {
namespace {

// The index of a text of kMissingTexts; their number for any other.
size_t FindMissingText(std::string_view text) {
  return std::find(kMissingTexts.begin(), kMissingTexts.end(), text) - kMissingTexts.begin();
}

}  // namespace

void InspectedColumn::AddText(std::string_view text, bool held_out) {
  ++texts_;
  ForEachWord(text, IsWordSpace, [this](size_t, size_t) { ++words_; });
  values_.Add(text, held_out);
  const size_t missing = FindMissingText(text);
  if (missing < kMissingTexts.size()) ++missing_texts_[missing];
}

void InspectedColumn::AddNumber(double value, bool is_integer, std::string_view text,
                                bool held_out) {
  if (!is_integer) integers_ = false;
  if (value != std::floor(value)) whole_ = false;
  if (!is_integer || (all_.count > 0 && value != last_ + 1)) counts_up_ = false;
  if (all_.count > 0 && value >= last_) falls_ = false;
  last_ = value;
  all_.Add(value);
  if (!held_out) train_.Add(value);
  values_.Add(text, held_out);
  const std::string_view digits = StripBlanks(text);
  only_digits_ = only_digits_ && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  if (digits.size() > 1 && digits.front() == '0' && first_code_.empty()) first_code_ = digits;
}

InspectedColumn InspectedColumn::AsTexts() const {
  InspectedColumn column = *this;
  column.texts_ += numbers();
  column.words_ += numbers();
  column.all_ = column.train_ = {};
  return column;
}

bool InspectedColumn::IsNumber(std::span<const std::string> na_values) const {
  return numbers() > 0 && texts_ + empty_ == Missing(na_values);
}

bool InspectedColumn::IsNumberThatOverflows() const {
  return overflows_ > 0 && numbers() > 0 && texts_ - overflows_ == CountMissingTexts();
}

int64_t InspectedColumn::CountMissingTexts() const {
  return std::accumulate(missing_texts_.begin(), missing_texts_.end(), int64_t{0});
}

int64_t InspectedColumn::Missing(std::span<const std::string> na_values) const {
  int64_t missing = empty_;
  for (const std::string& text : na_values) {
    const size_t index = FindMissingText(text);
    if (index < kMissingTexts.size()) missing += missing_texts_[index];
  }
  return missing;
}

void BoundValueCounts(const std::vector<InspectedColumn*>& columns, size_t most_bytes) {
  size_t bytes = 0;
  for (const InspectedColumn* column : columns) bytes += column->values().bytes();
  if (bytes <= most_bytes) return;
  const auto largest = std::max_element(columns.begin(), columns.end(), [](auto* a, auto* b) {
    return a->values().bytes() < b->values().bytes();
  });
  (*largest)->values().Drop();
}

}  // namespace tpurun
