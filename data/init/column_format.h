// How the texts of a column can be read as numbers or as times: "$ 1,234.50", "12%", "31.01.2024".
#ifndef TPURUN_DATA_INIT_COLUMN_FORMAT_H_
#define TPURUN_DATA_INIT_COLUMN_FORMAT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/init/column.h"
#include "data/number_format.h"

namespace tpurun {

struct ColumnFormat {
  NumberFormat number;      // of numbers
  std::string time_format;  // of times, in strptime's notation; empty: they are numbers
  std::string assumption;   // for a comment: what was assumed where there is a choice; or empty
  // The assumption is that numbers of several units are one quantity: to be warned of.
  bool mixes_units = false;

  bool is_time() const { return !time_format.empty(); }
  // True if the values are not numbers in C notation.
  bool is_given() const { return is_time() || !number.is_plain(); }
};

// The formats that all texts of a column have in common. Once there is none, Add costs nothing.
class FormatCandidates {
 public:
  FormatCandidates();
  // Adds a field that is not empty. Texts of kMissingTexts are ignored.
  void Add(std::string_view text);
  // True if texts have been added, and all of them can be read.
  bool any() const { return texts_ > 0 && (!times_.empty() || numbers_ != 0); }
  // The best of them, in a file whose columns are separated by `delim`. Requires any().
  ColumnFormat Choose(char delim) const;

 private:
  void AddNumber(std::string_view text);
  // The same for WHOLE.FRACTION, with or without a minus.
  void AddPointNumber(std::string_view text, std::string_view whole, std::string_view fraction);
  bool HasNumber(size_t format) const { return (numbers_ >> format & 1) != 0; }
  void ChooseStrips(ColumnFormat* format) const;

  int64_t texts_ = 0;
  std::vector<int> times_;  // the indices of the formats that fit all texts
  uint32_t numbers_ = 0;    // a bit for each format that fits all texts
  bool any_bare_ = false;   // a number without a text around it
  // The texts around the other numbers: a bit for each text of a number.
  std::set<uint32_t> strips_;
  std::string grouped_;  // the first number that two formats read differently
};

// Whether times of the format have a day, not the month alone.
bool HasDay(std::string_view time_format);

// Of texts most of which are numbers or times of one format: the first that is not, in the order of
// their bytes. nullopt if there is no such format.
std::optional<std::string> OddText(const ValueCounts& values);

// The number, or the time in days since 1970-01-01; nullopt if the text is not of the format.
std::optional<double> FormattedValue(std::string_view text, const ColumnFormat& format);
// The inverse, for a default_value.
std::string FormatValue(double value, const ColumnFormat& format);

// A column whose values are read in a format.
struct FormattedColumn {
  ColumnFormat format;
  InspectedColumn values;  // numbers; of times the days since 1970-01-01
  uint32_t hours = 0;      // of times, a bit for each hour of the day that occurs
};

// Adds a field to the values of the column: one that is not of the format as a text. `where` is its
// place. Returns its FormattedValue.
std::optional<double> AddFormattedText(std::string_view field, bool held_out,
                                       const std::string& where, FormattedColumn* column);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_COLUMN_FORMAT_H_
