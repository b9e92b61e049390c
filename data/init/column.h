// What `tpurun init` learns about one scalar of the examples, a column of a table or a feature of a
// tf.Example, whatever its values turn out to be.
#ifndef TPURUN_DATA_INIT_COLUMN_H_
#define TPURUN_DATA_INIT_COLUMN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/init/statistics.h"

namespace tpurun {

// Texts that tables write where a value is missing, besides none at all.
inline constexpr std::array<std::string_view, 14> kMissingTexts = {
    "?", "NA", "N/A", "na", "n/a", "nan", "NaN", "NAN", "null", "NULL", "None", "none", "-", "."};

// The examples come in order, each with exactly one of the calls.
class InspectedColumn {
 public:
  // `where` is called for the place of the value, should a message need it.
  template <typename Where>
  void AddMissing(const Where& where) {
    AddMissing();
    if (empty_ == 1) first_missing_ = where();
  }
  template <typename Where>
  void AddText(std::string_view text, bool held_out, const Where& where) {
    AddText(text, held_out);
    if (texts_ == 1) first_text_ = where();
  }
  // A number that is too large for a float; as a text until it is known what else there is.
  template <typename Where>
  void AddOverflow(std::string_view text, bool held_out, const Where& where) {
    AddText(text, held_out, where);
    if (++overflows_ == 1) first_overflow_ = {where(), std::string(text)};
  }
  // `text` is the number as it is written.
  void AddNumber(double value, bool is_integer, std::string_view text, bool held_out);

  // Examples with a number, with no value, with another text, with that text of kMissingTexts.
  int64_t numbers() const { return all_.count; }
  int64_t empty() const { return empty_; }
  int64_t texts() const { return texts_; }
  int64_t missing_texts(size_t which) const { return missing_texts_[which]; }
  // Whether every value is a number, where that text stands for a missing one (none: "").
  bool IsNumber(std::string_view na_value) const;
  // Whether every value is a number or missing, but some, not all, are too large for a float: where
  // all are, they are the digits of something else.
  bool IsNumberThatOverflows() const;
  // Examples without a value, where that text stands for a missing one.
  int64_t Missing(std::string_view na_value) const;
  // Every number is an integer, and written as one.
  bool integers() const { return integers_; }
  // Every number is one, however it is written.
  bool whole() const { return whole_; }
  // It numbers the examples: each is one more than the one before.
  bool counts_up() const { return counts_up_ && texts_ == 0 && empty_ == 0; }
  const std::string& first_missing() const { return first_missing_; }
  const std::string& first_text() const { return first_text_; }
  // Its place and its text.
  const std::pair<std::string, std::string>& first_overflow() const { return first_overflow_; }
  // Of the numbers: all, and those of examples that are not held out.
  const NumberStatistics& all() const { return all_; }
  const NumberStatistics& train() const { return train_; }
  // Of numbers, as they are written, and texts.
  const ValueCounts& values() const { return values_; }
  ValueCounts& values() { return values_; }

 private:
  void AddMissing();
  void AddText(std::string_view text, bool held_out);

  int64_t empty_ = 0;
  int64_t texts_ = 0;
  int64_t overflows_ = 0;  // of texts_
  std::array<int64_t, kMissingTexts.size()> missing_texts_ = {};
  bool integers_ = true;
  bool whole_ = true;
  bool counts_up_ = true;
  double last_ = 0;
  std::string first_missing_, first_text_;
  std::pair<std::string, std::string> first_overflow_;
  NumberStatistics all_, train_;
  ValueCounts values_;
};

// Of all columns together: small beside what a training takes, and 20,000 words in 200 columns.
inline constexpr size_t kMostValueBytes = 256 << 20;

// Forgets the largest counts of values where all take more than that.
void BoundValueCounts(const std::vector<InspectedColumn*>& columns,
                      size_t most_bytes = kMostValueBytes);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_COLUMN_H_
