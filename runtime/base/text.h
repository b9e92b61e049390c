// Small text functions shared by messages, dumps and parsers.
#ifndef TPURUN_RUNTIME_BASE_TEXT_H_
#define TPURUN_RUNTIME_BASE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"

namespace tpurun {

// Debian's Abseil is built with its own string_view.
inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

// The candidate with the least edit distance from `name`, if it is a likely typing error: at most a
// third of the letters differ (or one letter), and '-' equals '_'. Empty otherwise.
std::string NearestName(std::string_view name, const std::vector<std::string>& candidates);

// ", did you mean \"X\"?" if there is a near candidate, else " (known: A, B, C)" with the first 50
// candidates.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

// The fewest digits that parse to the same value of that type: 0.1f is "0.1". NaN and the
// infinities are nan, inf and -inf.
std::string ShortestText(float value);
std::string ShortestText(double value);

// Parses the whole of `text` as a number in C notation, without surrounding blanks. nullopt for any
// other text and for a value outside the range of the type. A number too small for the type is 0
// with its sign.
std::optional<int64_t> ParseInt64(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);
std::optional<float> ParseFloat(std::string_view text);
// True if `text` is a number that is too large for a float.
bool OverflowsFloat(std::string_view text);

// A UTF-8 character, or one byte that begins no character (then `code` is nullopt).
struct Character {
  std::optional<char32_t> code;
  std::string_view bytes;
};

// The first character of a text that is not empty.
Character FirstCharacter(std::string_view text);

// True if the bytes are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool IsUtf8(std::string_view text);

// True if the text is UTF-8 that a terminal shows unchanged on one line: without control characters
// (C0, DEL, C1), line separators and marks that change the direction of writing.
bool IsPrintable(std::string_view text);

// `text` on one line. Each byte of a character that is not printable becomes a C escape: "\n",
// "\033". Existing escapes stay unchanged.
std::string Escape(std::string_view text);

// The same in place and without allocating memory: each of those bytes becomes '?'.
void MaskUnprintable(char* text, size_t size);

// Quote puts the text in double quotes and escapes it, with \" and \\. Unquote is the inverse and
// returns nullopt for a malformed string.
std::string Quote(std::string_view text);
std::optional<std::string> Unquote(std::string_view quoted);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_TEXT_H_
