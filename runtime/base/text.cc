#include "runtime/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tpurun {
namespace {

char Fold(char c) { return c == '-' ? '_' : c; }

// Insertions, deletions, substitutions and swaps of neighbours, each counted as one (optimal string
// alignment).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool equal = Fold(a[i - 1]) == Fold(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (equal ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && Fold(a[i - 1]) == Fold(b[j - 2]) && Fold(a[i - 2]) == Fold(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

template <typename T>
std::string Shortest(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

template <typename T>
struct ParsedNumber {
  std::optional<T> value;
  bool overflows = false;  // a floating point number that is too large for T
};

template <typename T>
ParsedNumber<T> ParseNumber(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  T value{};
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ptr != end) return {};
  if (result.ec == std::errc()) return {value};
  if constexpr (std::is_floating_point_v<T>) {
    // Too small or too large, which from_chars does not say.
    const std::string terminated(text);
    value = std::is_same_v<T, float> ? std::strtof(terminated.c_str(), nullptr)
                                     : std::strtod(terminated.c_str(), nullptr);
    if (std::isinf(value)) return {.overflows = true};
    return {value};
  }
  return {};
}

bool IsPrintable(const Character& character) {
  if (!character.code.has_value()) return false;
  const char32_t code = *character.code;
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool separator_or_direction =
      (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return !control && !separator_or_direction;
}

// Visits the characters in order until one gives false; whether none did.
template <typename Visit>
bool EveryCharacter(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (!visit(character)) return false;
    text.remove_prefix(character.bytes.size());
  }
  return true;
}

void AppendByte(unsigned char byte, std::string* text) {
  constexpr std::string_view kNamed = "\n\r\t";
  constexpr std::string_view kNames = "nrt";
  const size_t named = kNamed.find(static_cast<char>(byte));
  if (named != std::string_view::npos) {
    text->append({'\\', kNames[named]});
  } else {
    const auto digit = [byte](int shift) { return static_cast<char>('0' + (byte >> shift & 7)); };
    text->append({'\\', digit(6), digit(3), digit(0)});
  }
}

// With a backslash before each character of `marked` too.
std::string Escaped(std::string_view text, std::string_view marked) {
  std::string escaped;
  EveryCharacter(text, [&](const Character& character) {
    if (!IsPrintable(character)) {
      for (const char byte : character.bytes) AppendByte(byte, &escaped);
      return true;
    }
    if (marked.find(character.bytes[0]) != std::string_view::npos) escaped.push_back('\\');
    escaped.append(character.bytes);
    return true;
  });
  return escaped;
}

}  // namespace

std::string NearestName(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // At least so far apart.
    if (name.size() > candidate.size() + best_distance) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = NearestName(name, candidates);
  if (!nearest.empty()) return absl::StrCat(", did you mean ", Quote(nearest), "?");
  constexpr size_t kMost = 50;
  if (candidates.size() <= kMost) {
    return absl::StrCat(" (known: ", absl::StrJoin(candidates, ", "), ")");
  }
  const auto end = candidates.begin() + kMost;
  return absl::StrCat(" (known: ", absl::StrJoin(candidates.begin(), end, ", "), " and ",
                      candidates.size() - kMost, " more)");
}

std::string ShortestText(float value) { return Shortest(value); }
std::string ShortestText(double value) { return Shortest(value); }

std::optional<int64_t> ParseInt64(std::string_view text) {
  return ParseNumber<int64_t>(text).value;
}
std::optional<double> ParseDouble(std::string_view text) { return ParseNumber<double>(text).value; }
std::optional<float> ParseFloat(std::string_view text) { return ParseNumber<float>(text).value; }
bool OverflowsFloat(std::string_view text) { return ParseNumber<float>(text).overflows; }

Character FirstCharacter(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, text.substr(0, 1)};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const Character malformed = {std::nullopt, text.substr(0, 1)};
  if (lead < 0xC2 || lead > 0xF4 || length > text.size()) return malformed;
  char32_t code = lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return malformed;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr char32_t kFirstOfLength[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kFirstOfLength[length] || code > 0x10FFFF || surrogate) return malformed;
  return {code, text.substr(0, length)};
}

bool IsUtf8(std::string_view text) {
  return EveryCharacter(text, [](const Character& c) { return c.code.has_value(); });
}

bool IsPrintable(std::string_view text) {
  return EveryCharacter(text, [](const Character& c) { return IsPrintable(c); });
}

std::string Escape(std::string_view text) { return Escaped(text, ""); }

void MaskUnprintable(char* text, size_t size) {
  EveryCharacter({text, size}, [&](const Character& character) {
    if (!IsPrintable(character)) {
      std::fill_n(text + (character.bytes.data() - text), character.bytes.size(), '?');
    }
    return true;
  });
}

std::string Quote(std::string_view text) { return absl::StrCat("\"", Escaped(text, "\"\\"), "\""); }

std::optional<std::string> Unquote(std::string_view quoted) {
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') return std::nullopt;
  quoted = quoted.substr(1, quoted.size() - 2);
  std::string text;
  if (!absl::CUnescape(absl::string_view(quoted.data(), quoted.size()), &text)) {
    return std::nullopt;
  }
  return text;
}

}  // namespace tpurun
