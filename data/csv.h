// Splits lines of comma-separated values, by the rules of tf.io.decode_csv (RFC 4180: a quoted
// field may contain the delimiter, and "" in it is a quote).
#ifndef TPURUN_DATA_CSV_H_
#define TPURUN_DATA_CSV_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpurun {

struct CsvFormat {
  char delim = ',';
  bool quotes = true;
  // CsvRows: a field in quotes may have line breaks.
  bool line_breaks = false;
  std::vector<std::string> na_values;  // texts that stand for a missing value
};

// The name whose final number is larger by `count`: ("pixel07", 5) gives "pixel12". nullopt if the
// name does not end with a number.
std::optional<std::string> CountedName(std::string_view first, int64_t count);

// Splits a line into its fields. Fields with an escaped quote are rewritten in *scratch. An empty
// line has no field. A line break in a field in quotes is a part of it. Returns the mistake, or an
// empty string if there is none.
std::string SplitFields(std::string_view line, const CsvFormat& format,
                        std::vector<std::string_view>* fields, std::string* scratch);
// What separates the columns of a line: the comma, unless it has none but another.
char GuessDelimiter(std::string_view line);
// True for a line without a character but spaces, which is no row.
bool IsBlankLine(std::string_view line);
// Removes the blanks before and after a text: numbers may have them.
std::string_view StripBlanks(std::string_view text);
// Appended to "want a number" messages if OverflowsFloat is true for the value.
inline constexpr char kFloatBound[] = " of magnitude 3.4028235e+38 or less";
// A field as a message shows it: quoted, and truncated if it is long.
std::string ShownField(std::string_view field);

}  // namespace tpurun

#endif  // TPURUN_DATA_CSV_H_
