#include "data/init/column.h"

#include <algorithm>
#include <cmath>

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
  last_ = value;
  all_.Add(value);
  if (!held_out) train_.Add(value);
  values_.Add(text, held_out);
}

bool InspectedColumn::IsNumber(std::string_view na_value) const {
  const size_t missing = FindMissingText(na_value);
  return numbers() > 0 && texts_ == (missing < kMissingTexts.size() ? missing_texts_[missing] : 0);
}

bool InspectedColumn::IsNumberThatOverflows() const {
  const int64_t others = texts_ - overflows_;
  return overflows_ > 0 && numbers() > 0 &&
         (others == 0 ||
          std::find(missing_texts_.begin(), missing_texts_.end(), others) != missing_texts_.end());
}

int64_t InspectedColumn::Missing(std::string_view na_value) const {
  const size_t missing = FindMissingText(na_value);
  return empty_ + (missing < kMissingTexts.size() ? missing_texts_[missing] : 0);
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
