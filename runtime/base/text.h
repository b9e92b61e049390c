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

// Debian's Abseil has a string_view of its own.
inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

// The candidate nearest to `name` by edit distance, when near enough to be a likely slip of the
// hand (at most a third of the letters, '-' and '_' being equal); empty otherwise.
std::string NearestName(std::string_view name, const std::vector<std::string>& candidates);

// ", did you mean \"X\"?" for a near candidate, else " (known: A, B, C)", the first 50 of them.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

// The fewest digits that read back to the same value in that type: 0.1f is "0.1". NaN and the
// infinities are nan, inf, -inf.
std::string ShortestText(float value);
std::string ShortestText(double value);

// The whole of `text` as a number in the usual C notation (surrounding blanks are not accepted);
// nullopt for anything else and for a value outside the type. A number too small for the type is 0,
// with its sign.
std::optional<int64_t> ParseInt64(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);
std::optional<float> ParseFloat(std::string_view text);
// Whether it is a number that is too large for a float.
bool OverflowsFloat(std::string_view text);

// A character of UTF-8, or one byte that begins none.
struct Character {
  std::optional<char32_t> code;
  std::string_view bytes;
};

// That of a text that is not empty.
Character FirstCharacter(std::string_view text);

// Whether the bytes are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool IsUtf8(std::string_view text);

// Whether they are UTF-8 that a terminal shows as it is, on one line: without control characters
// (C0, DEL, C1), separators of lines and marks that turn the direction of writing.
bool IsPrintable(std::string_view text);

// `text` on one line, each byte of what is not printable as a C escape: "\n", "\033". What is
// escaped already stays as it is.
std::string Escape(std::string_view text);

// The same in place and without memory: '?' for each of those bytes.
void MaskUnprintable(char* text, size_t size);

// "text" in double quotes, escaped, with \" and \\; and back. Unquote returns nullopt for a
// malformed string.
std::string Quote(std::string_view text);
std::optional<std::string> Unquote(std::string_view quoted);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_TEXT_H_
