// Lines of comma-separated values, by the rules of tf.io.decode_csv (RFC 4180: a quoted field may
// hold the delimiter, "" is a quote).
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
  std::string na_value;
};

// The name `count` behind a name that ends with a number: that of ("pixel07", 5) is "pixel12".
// nullopt where no number is at the end.
std::optional<std::string> CountedName(std::string_view first, int64_t count);

// Splits a line into its fields; those with an escaped quote are rewritten in *scratch. An empty
// line has no field. Returns what is wrong, empty when nothing is.
std::string SplitFields(std::string_view line, const CsvFormat& format,
                        std::vector<std::string_view>* fields, std::string* scratch);
// Without the blanks around it, which numbers may have.
std::string_view StripBlanks(std::string_view text);
// What a message that wants a number adds where OverflowsFloat is true of what it got.
inline constexpr char kFloatBound[] = " of magnitude 3.4028235e+38 or less";
// A field as a message shows it: quoted, its beginning only when it is long.
std::string ShownField(std::string_view field);

}  // namespace tpurun

#endif  // TPURUN_DATA_CSV_H_
