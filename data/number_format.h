// NumberFormat: how the numbers of a column are written, by pandas' names: 1,234.5 or 1.234,50 EUR.
#ifndef TPURUN_DATA_NUMBER_FORMAT_H_
#define TPURUN_DATA_NUMBER_FORMAT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpurun {

struct NumberFormat {
  std::string thousands;  // between groups of digits; empty: none
  std::string decimal = ".";
  std::vector<std::string> strip;  // texts before or after the number

  // True if numbers are written in C notation.
  bool is_plain() const { return thousands.empty() && decimal == "." && strip.empty(); }
};

// The number in C notation, such as "-1234.5" for "-$ 1,234.5": a view of `text` or of *scratch.
// nullopt for a text that is not a number of that format. With a plain format the text is returned
// without the blanks around it, whatever it is. Blanks may stand before and after the number and
// beside stripped texts. A sign may stand before or after stripped texts. Groups: the last one has
// three digits, those before it two or three, the first one to three, without a leading 0;
// a number may have no separators at all.
std::optional<std::string_view> PlainNumber(std::string_view text, const NumberFormat& format,
                                            std::string* scratch);

// What is wrong with the format itself; empty if nothing is.
std::string WrongFormat(const NumberFormat& format);

}  // namespace tpurun

#endif  // TPURUN_DATA_NUMBER_FORMAT_H_
