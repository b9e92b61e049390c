#include "data/init/column_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "data/csv.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

struct Separators {
  const char* thousands;
  const char* decimal;
};

// In the order of preference.
constexpr Separators kSeparators[] = {
    {"", "."},  {",", "."},      {"", ","},       {".", ","}, {" ", ","},
    {" ", "."}, {"\u00a0", ","}, {"\u202f", ","}, {"'", "."}, {"\u2019", "."},
};
constexpr size_t kDecimalPoint = 0, kThousandsComma = 1, kDecimalComma = 2, kThousandsPoint = 3;

struct Strip {
  const char* text;
  const char* currency;  // nullptr: it is none
};
constexpr Strip kStrips[] = {
    {"%", nullptr},    {"$", "USD"},   {"\u20ac", "EUR"},   {"\u00a3", "GBP"}, {"\u00a5", "JPY"},
    {"\u20b9", "INR"}, {"USD", "USD"}, {"EUR", "EUR"},      {"GBP", "GBP"},    {"CHF", "CHF"},
    {"JPY", "JPY"},    {"CNY", "CNY"}, {"INR", "INR"},      {"CAD", "CAD"},    {"AUD", "AUD"},
    {"R$", "BRL"},     {"kr", "kr"},   {"\u00a0", nullptr},
};
constexpr size_t kPercent = 0, kDollar = 1, kReal = 15;

// Of a set of them.
bool HasStrip(uint32_t strips, size_t strip) { return (strips >> strip & 1) != 0; }

// A blank matches any number of them, %b also a whole name.
constexpr const char* kDateFormats[] = {
    "%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y",  "%d-%m-%Y", "%d.%m.%y",
    "%m/%d/%y", "%d/%m/%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%b %d %Y"};
constexpr const char* kClockFormats[] = {
    "",       " %H:%M",      " %H:%M:%E*S",   " %H:%M:%E*S%Ez", " %I:%M %p", " %I:%M:%E*S %p",
    "T%H:%M", "T%H:%M:%E*S", "T%H:%M:%E*S%Ez"};
// Times of the first day of a month.
constexpr const char* kMonthFormats[] = {"%Y-%m", "%b %Y"};

// In the order of preference.
const std::vector<std::string>& TimeFormats() {
  static const auto* const kFormats = [] {
    auto* const formats = new std::vector<std::string>;
    for (const char* date : kDateFormats) {
      for (const char* clock : kClockFormats) formats->push_back(absl::StrCat(date, clock));
    }
    formats->insert(formats->end(), std::begin(kMonthFormats), std::end(kMonthFormats));
    return formats;
  }();
  return *kFormats;
}

// The formats of kSeparators, with all of kStrips.
const std::vector<NumberFormat>& NumberFormats() {
  static const auto* const kFormats = [] {
    std::vector<std::string> strips;
    for (const Strip& strip : kStrips) strips.emplace_back(strip.text);
    auto* const formats = new std::vector<NumberFormat>;
    for (const Separators& separators : kSeparators) {
      formats->push_back(
          {.thousands = separators.thousands, .decimal = separators.decimal, .strip = strips});
    }
    return formats;
  }();
  return *kFormats;
}

// Of a number such as -12.345, which most numbers of tables are, the digits before and after the
// point; nullopt for any other text.
struct PointNumber {
  std::string_view whole, fraction;
};
std::optional<PointNumber> PointNumberOf(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const size_t point = text.find('.');
  if (point == std::string_view::npos || point == 0) return std::nullopt;
  const PointNumber number = {text.substr(0, point), text.substr(point + 1)};
  for (const std::string_view digits : {number.whole, number.fraction}) {
    if (!std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit)) return std::nullopt;
  }
  return number;
}

// Whether the first word of a date ends with a year of two digits, not one: "1.2.3" is no date.
bool EndsWithTwoDigits(std::string_view date) {
  date = date.substr(0, date.find(' '));
  const size_t digits = date.size() - (date.find_last_not_of("0123456789") + 1);
  return digits == 2;
}

std::optional<absl::Time> TimeOf(std::string_view text, const std::string& format) {
  if (format.find("%y") != std::string::npos && !EndsWithTwoDigits(text)) return std::nullopt;
  absl::Time time;
  std::string unused;
  if (!absl::ParseTime(format, ToAbsl(text), &time, &unused)) return std::nullopt;
  // Fewer digits of a year are other numbers, and so are four of them and two that are no month of
  // our time.
  const int64_t year = absl::ToCivilYear(time, absl::UTCTimeZone()).year();
  const bool is_year = HasDay(format) ? year >= 1000 && year <= 9999 : year >= 1700 && year < 2200;
  if (!is_year) return std::nullopt;
  return time;
}

// The format with month and day in the other order.
std::string WithDayFirst(const std::string& format) {
  return absl::StrReplaceAll(format, {{"%m", "%d"}, {"%d", "%m"}});
}

std::optional<double> NumberIn(std::string_view text, const NumberFormat& format) {
  std::string scratch;
  const std::optional<std::string_view> plain = PlainNumber(text, format, &scratch);
  if (!plain.has_value()) return std::nullopt;
  const std::optional<float> value = ParseFloat(*plain);
  if (!value.has_value() || !std::isfinite(*value)) return std::nullopt;
  return ParseDouble(*plain);
}

}  // namespace

FormatCandidates::FormatCandidates()
    : times_(TimeFormats().size()), numbers_((uint32_t{1} << std::size(kSeparators)) - 1) {
  std::iota(times_.begin(), times_.end(), 0);
}

void FormatCandidates::Add(std::string_view text) {
  if (times_.empty() && numbers_ == 0) return;
  if (std::find(kMissingTexts.begin(), kMissingTexts.end(), text) != kMissingTexts.end()) return;
  ++texts_;
  text = StripBlanks(text);
  if (std::all_of(text.begin(), text.end(), absl::ascii_isdigit)) {
    times_.clear();  // any format of numbers has it
    any_bare_ = true;
    return;
  }
  if (const std::optional<PointNumber> number = PointNumberOf(text)) {
    times_.clear();
    return AddPointNumber(text, number->whole, number->fraction);
  }
  constexpr size_t kLongestTime = 40;
  if (text.size() > kLongestTime || std::none_of(text.begin(), text.end(), absl::ascii_isdigit)) {
    times_.clear();
  }
  std::erase_if(times_, [text](int format) { return !TimeOf(text, TimeFormats()[format]); });
  AddNumber(text);
}

void FormatCandidates::AddPointNumber(std::string_view text, std::string_view whole,
                                      std::string_view fraction) {
  any_bare_ = true;
  uint32_t fits = 0;
  for (size_t format = 0; format < std::size(kSeparators); ++format) {
    if (NumberFormats()[format].decimal == ".") fits |= uint32_t{1} << format;
  }
  // "1.234" is also 1234 with a separator of thousands.
  if (fraction.size() == 3 && whole.size() <= 3 && whole.front() != '0') {
    fits |= uint32_t{1} << kThousandsPoint;
    if (HasNumber(kThousandsPoint) && grouped_.empty()) grouped_ = text;
  }
  numbers_ &= fits;
}

void FormatCandidates::AddNumber(std::string_view text) {
  std::optional<double> first;
  for (size_t format = 0; format < std::size(kSeparators); ++format) {
    if (!HasNumber(format)) continue;
    const std::optional<double> value = NumberIn(text, NumberFormats()[format]);
    if (!value.has_value()) {
      numbers_ &= ~(uint32_t{1} << format);
    } else if (!first.has_value()) {
      first = value;
    } else if (*value != *first && grouped_.empty()) {
      grouped_ = text;
    }
  }
  if (numbers_ == 0) return;
  uint32_t strips = 0;
  for (size_t i = 0; i < std::size(kStrips); ++i) {
    if (text.find(kStrips[i].text) != std::string_view::npos) strips |= uint32_t{1} << i;
  }
  if (HasStrip(strips, kReal)) strips &= ~(uint32_t{1} << kDollar);
  if (strips == 0) {
    any_bare_ = true;
  } else {
    strips_.insert(strips);
  }
}

ColumnFormat FormatCandidates::Choose(char delim) const {
  ColumnFormat format;
  if (!times_.empty()) {
    format.time_format = TimeFormats()[times_.front()];
    const std::string day_first = WithDayFirst(format.time_format);
    const auto is_day_first = [&](int other) { return TimeFormats()[other] == day_first; };
    if (HasDay(format.time_format) && std::any_of(times_.begin() + 1, times_.end(), is_day_first)) {
      format.assumption = "the month is taken to come before the day";
    }
    return format;
  }
  size_t chosen = std::countr_zero(numbers_);
  const auto choose = [&](size_t one, size_t other) {
    if (!HasNumber(one) || !HasNumber(other) || grouped_.empty()) return;
    // Where commas are decimal, semicolons separate the columns.
    chosen = delim == ';' ? std::max(one, other) : std::min(one, other);
    const char* const separator = one == kDecimalPoint ? "." : ",";
    const bool is_decimal = (chosen == kDecimalPoint) || (chosen == kDecimalComma);
    format.assumption = absl::StrCat(Quote(separator), " in ", grouped_, " is taken for the ",
                                     is_decimal ? "decimal point" : "separator of thousands");
  };
  choose(kThousandsComma, kDecimalComma);
  choose(kDecimalPoint, kThousandsPoint);
  format.number.thousands = kSeparators[chosen].thousands;
  format.number.decimal = kSeparators[chosen].decimal;
  ChooseStrips(&format);
  return format;
}

void FormatCandidates::ChooseStrips(ColumnFormat* format) const {
  uint32_t all = 0;
  bool any_percent = false, all_percent = !any_bare_;
  std::set<std::set<std::string_view>> currencies;  // those of one number
  for (const uint32_t strips : strips_) {
    all |= strips;
    any_percent |= HasStrip(strips, kPercent);
    all_percent &= HasStrip(strips, kPercent);
    std::set<std::string_view> of_number;
    for (size_t i = 0; i < std::size(kStrips); ++i) {
      if (HasStrip(strips, i) && kStrips[i].currency != nullptr) {
        of_number.insert(kStrips[i].currency);
      }
    }
    if (!of_number.empty()) currencies.insert(std::move(of_number));
  }
  std::vector<std::string> signs;  // of currencies
  for (size_t i = 0; i < std::size(kStrips); ++i) {
    if (!HasStrip(all, i)) continue;
    format->number.strip.push_back(kStrips[i].text);
    if (kStrips[i].currency != nullptr) signs.push_back(Quote(kStrips[i].text));
  }
  const auto assume = [format](const auto&... parts) {
    absl::StrAppend(&format->assumption, format->assumption.empty() ? "" : "; ", parts...);
  };
  const auto assume_some = [&assume](const std::string& text) {
    assume("some numbers have ", text, " and some have not: all are read alike");
  };
  if (any_percent && !all_percent) assume_some(Quote("%"));
  if (currencies.size() > 1) {
    assume(absl::StrJoin(signs, " and "), " are read alike");
  } else if (any_bare_ && !currencies.empty()) {
    assume_some(absl::StrJoin(signs, " or "));
  }
  format->mixes_units = (any_percent && !all_percent) || currencies.size() > 1;
}

bool HasDay(std::string_view time_format) {
  return time_format.find("%d") != std::string_view::npos;
}

std::optional<std::string> OddText(const ValueCounts& values) {
  std::vector<std::string_view> texts;
  for (const auto& [text, count] : values.map()) {
    if (std::find(kMissingTexts.begin(), kMissingTexts.end(), text) == kMissingTexts.end())
      texts.push_back(text);
  }
  std::sort(texts.begin(), texts.end());
  std::vector<ColumnFormat> formats;
  for (const std::string& format : TimeFormats()) formats.push_back({.time_format = format});
  for (const NumberFormat& format : NumberFormats()) formats.push_back({.number = format});
  const auto count = [&](const ColumnFormat& format, size_t step) {
    size_t fit = 0;
    for (size_t i = 0; i < texts.size(); i += step)
      fit += FormattedValue(texts[i], format).has_value() ? 1 : 0;
    return fit;
  };
  // Most formats fit no text: those that fit none of some texts are not tried on all.
  const size_t some = std::max<size_t>(1, texts.size() / 32);
  const ColumnFormat* best = nullptr;
  size_t most = texts.size() / 2;
  for (const ColumnFormat& format : formats) {
    const size_t fit = count(format, some) > 0 ? count(format, 1) : 0;
    if (fit <= most) continue;
    best = &format;
    most = fit;
  }
  if (best == nullptr) return std::nullopt;
  const auto odd = std::find_if(texts.begin(), texts.end(), [best](std::string_view text) {
    return !FormattedValue(text, *best).has_value();
  });
  return odd == texts.end() ? std::nullopt : std::optional<std::string>(*odd);
}

std::optional<double> FormattedValue(std::string_view text, const ColumnFormat& format) {
  if (!format.is_time()) return NumberIn(text, format.number);
  const std::optional<absl::Time> time = TimeOf(StripBlanks(text), format.time_format);
  if (!time.has_value()) return std::nullopt;
  return absl::FDivDuration(*time - absl::UnixEpoch(), absl::Hours(24));
}

std::string FormatValue(double value, const ColumnFormat& format) {
  if (!format.is_time()) {
    return absl::StrReplaceAll(ShortestText(static_cast<float>(value)),
                               {{".", format.number.decimal}});
  }
  const absl::Time time = absl::UnixEpoch() + absl::Seconds(std::llround(value * 86400));
  return absl::FormatTime(format.time_format, time, absl::UTCTimeZone());
}

std::optional<double> AddFormattedText(std::string_view field, bool held_out,
                                       const std::string& where, FormattedColumn* column) {
  const auto place = [&where] { return where; };
  if (field.empty()) {
    column->values.AddMissing(place);
    return std::nullopt;
  }
  const std::optional<double> value = FormattedValue(field, column->format);
  if (!value.has_value()) {
    column->values.AddText(field, held_out, place);
    return std::nullopt;
  }
  const bool is_time = column->format.is_time();
  column->values.AddNumber(*value, *value == std::floor(*value) && !is_time, field, held_out);
  if (!is_time) return value;
  const double hour = std::floor((*value - std::floor(*value)) * 24 + 1e-9);
  column->hours |= uint32_t{1} << static_cast<int>(std::min(hour, 23.0));
  return value;
}

}  // namespace tpurun
