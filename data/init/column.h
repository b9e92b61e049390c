// InspectedColumn: what `tpurun init` learns about one scalar of the examples, which is a column of
// a table or a feature of a tf.Example, for any kind of values.
#ifndef TPURUN_DATA_INIT_COLUMN_H_
#define TPURUN_DATA_INIT_COLUMN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/init/statistics.h"
#include "runtime/base/text.h"

namespace tpurun {

// Texts that tables contain in place of a missing value, besides the empty text.
inline constexpr std::array<std::string_view, 19> kMissingTexts = {
    "?",    "NA",   "N/A",  "na",   "n/a",  "nan",  "NaN",  "NAN", "-nan", "null",
    "NULL", "Null", "None", "none", "NONE", "#N/A", "<NA>", "-",   "."};

// Add the examples in order, each with exactly one of the Add calls.
class InspectedColumn {
 public:
  // `where` returns the place of the value. It is called only for a value that messages may name.
  template <typename Where>
  void AddMissing(const Where& where,
                  int64_t count = 1) {  // of `count` examples, the first's place
    if (empty_ == 0 && count > 0) first_missing_ = where();
    empty_ += count;
  }
  template <typename Where>
  void AddText(std::string_view text, bool held_out, const Where& where) {
    AddText(text, held_out);
    if (texts_ == 1) first_text_ = where();
    if (first_not_utf8_.empty() && !IsUtf8(text)) first_not_utf8_ = where();
  }
  // Adds a number that is too large for a float. It counts as a text until the other values are
  // known.
  template <typename Where>
  void AddOverflow(std::string_view text, bool held_out, const Where& where) {
    AddText(text, held_out, where);
    if (++overflows_ == 1) first_overflow_ = {where(), std::string(text)};
  }
  // `text` is the number as written in the input.
  void AddNumber(double value, bool is_integer, std::string_view text, bool held_out);

  // The number of examples with a number, with no value, with another text, and with the text
  // kMissingTexts[which].
  int64_t numbers() const { return all_.count; }
  int64_t empty() const { return empty_; }
  int64_t texts() const { return texts_; }
  // The number of words, between white space, of all texts.
  int64_t words() const { return words_; }
  int64_t missing_texts(size_t which) const { return missing_texts_[which]; }
  // True if every value is a number when the texts `na_values`, some of kMissingTexts, stand for
  // missing values.
  bool IsNumber(std::span<const std::string> na_values) const;
  // The same with all of kMissingTexts.
  bool IsNumber() const { return numbers() > 0 && texts_ == CountMissingTexts(); }
  // True if every number is written in digits alone, and zeros lead some: "00123" is no number but
  // a code, such as that of a town.
  bool has_codes() const { return only_digits_ && !first_code_.empty(); }
  // The first of the numbers that zeros lead.
  const std::string& first_code() const { return first_code_; }
  // The same column whose numbers are texts.
  InspectedColumn AsTexts() const;
  // True if every value is a number or missing and some, but not all, numbers are too large for a
  // float. If all are too large they are not numbers but digits with another meaning.
  bool IsNumberThatOverflows() const;
  // The number of examples without a value, when the texts `na_values` stand for missing values.
  int64_t Missing(std::span<const std::string> na_values) const;
  // True if every number is an integer and is written as one.
  bool integers() const { return integers_; }
  // True if every number is an integer, in any notation.
  bool whole() const { return whole_; }
  // True if the column numbers the examples: each value is one more than the value before.
  bool counts_up() const { return counts_up_ && texts_ == 0 && empty_ == 0; }
  // True if each value is a number that is less than the one before.
  bool falls() const { return falls_ && all_.count > 1 && texts_ == 0 && empty_ == 0; }
  const std::string& first_missing() const { return first_missing_; }
  const std::string& first_text() const { return first_text_; }
  // The place of the first text that is not UTF-8; empty: all are.
  const std::string& first_not_utf8() const { return first_not_utf8_; }
  // The place and the text of the first value that is too large for a float.
  const std::pair<std::string, std::string>& first_overflow() const { return first_overflow_; }
  // Statistics of the numbers: of all examples, and of the examples that are not held out.
  const NumberStatistics& all() const { return all_; }
  const NumberStatistics& train() const { return train_; }
  // Counts of the numbers, in their notation in the input, and of the texts.
  const ValueCounts& values() const { return values_; }
  ValueCounts& values() { return values_; }

 private:
  void AddText(std::string_view text, bool held_out);
  int64_t CountMissingTexts() const;

  int64_t empty_ = 0;
  int64_t texts_ = 0;
  int64_t words_ = 0;
  int64_t overflows_ = 0;  // included in texts_
  std::array<int64_t, kMissingTexts.size()> missing_texts_ = {};
  bool integers_ = true;
  bool whole_ = true;
  bool counts_up_ = true;
  bool only_digits_ = true;
  bool falls_ = true;
  double last_ = 0;
  std::string first_missing_, first_text_, first_code_, first_not_utf8_;
  std::pair<std::string, std::string> first_overflow_;
  NumberStatistics all_, train_;
  ValueCounts values_;
};

// Bytes of the value counts of all columns together. Small compared with a training, and enough for
// 20,000 words in 200 columns.
inline constexpr size_t kMostValueBytes = 256 << 20;

// Drops the value counts of the column with the largest counts if the counts of all columns take
// more than `most_bytes` bytes.
void BoundValueCounts(const std::vector<InspectedColumn*>& columns,
                      size_t most_bytes = kMostValueBytes);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_COLUMN_H_
