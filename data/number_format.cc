#include "data/number_format.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "data/csv.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

bool HasDigitOrSign(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isdigit(c) || c == '-' || c == '+'; });
}

// Removes a sign from the front of *text; '\0' if there is none.
char TakeSign(std::string_view* text) {
  if (!text->starts_with('-') && !text->starts_with('+')) return '\0';
  const char sign = text->front();
  *text = StripBlanks(text->substr(1));
  return sign;
}

// Removes the texts from both ends of *text, as often as they are there.
void StripTexts(const std::vector<std::string>& texts, std::string_view* text) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const size_t before = text->size();
    if (text->starts_with(texts[i])) text->remove_prefix(texts[i].size());
    if (text->ends_with(texts[i])) text->remove_suffix(texts[i].size());
    if (text->size() == before) continue;
    *text = StripBlanks(*text);
    i = static_cast<size_t>(-1);  // any of them may be next
  }
}

size_t CountDigits(std::string_view text) {
  return std::find_if_not(text.begin(), text.end(), absl::ascii_isdigit) - text.begin();
}

// Moves the whole part of a number from the front of *text to the end of *to. False if its digits
// are not in groups.
bool TakeWholePart(std::string_view thousands, std::string_view* text, std::string* to) {
  size_t digits = CountDigits(*text);
  bool is_first = true;
  const bool begins_with_0 = text->starts_with('0');
  while (true) {
    to->append(text->substr(0, digits));
    text->remove_prefix(digits);
    if (thousands.empty() || !text->starts_with(thousands)) return is_first || digits == 3;
    if (is_first ? digits < 1 || digits > 3 || begins_with_0 : digits < 2 || digits > 3) {
      return false;
    }
    text->remove_prefix(thousands.size());
    digits = CountDigits(*text);
    is_first = false;
  }
}

}  // namespace

std::optional<std::string_view> PlainNumber(std::string_view text, const NumberFormat& format,
                                            std::string* scratch) {
  text = StripBlanks(text);
  if (format.is_plain()) return text;
  char sign = TakeSign(&text);
  StripTexts(format.strip, &text);
  if (sign == '\0') sign = TakeSign(&text);
  scratch->clear();
  if (sign == '-') scratch->push_back(sign);
  if (!TakeWholePart(format.thousands, &text, scratch)) return std::nullopt;
  if (text.starts_with(format.decimal)) {
    text.remove_prefix(format.decimal.size());
    const size_t digits = CountDigits(text);
    absl::StrAppend(scratch, ".", ToAbsl(text.substr(0, digits)));
    text.remove_prefix(digits);
  }
  // An exponent may follow, and nothing else.
  if (!text.empty() && text.front() != 'e' && text.front() != 'E') return std::nullopt;
  scratch->append(text);
  return *scratch;
}

std::string WrongFormat(const NumberFormat& format) {
  if (format.decimal.empty()) return "decimal must not be empty";
  if (format.decimal == format.thousands) {
    return absl::StrCat("decimal and thousands must differ, got ", Quote(format.decimal),
                        " for both");
  }
  for (const std::string* text : {&format.decimal, &format.thousands}) {
    if (HasDigitOrSign(*text)) {
      return absl::StrCat(text == &format.decimal ? "decimal" : "thousands",
                          " must have no digit or sign, got ", Quote(*text));
    }
  }
  for (const std::string& text : format.strip) {
    if (text.empty() || HasDigitOrSign(text)) {
      return absl::StrCat("strip must be a text without a digit or a sign, got ", Quote(text));
    }
  }
  return "";
}

}  // namespace tpurun
