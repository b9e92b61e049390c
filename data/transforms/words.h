// What split makes of a text: its words, as init counts them too.
#ifndef TPURUN_DATA_TRANSFORMS_WORDS_H_
#define TPURUN_DATA_TRANSFORMS_WORDS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"

namespace tpurun {

// A text has at most so many bytes: its parts then take at most 200 MiB, less than the largest
// image.
inline constexpr size_t kMostSplitBytes = 8 << 20;

inline bool IsWordSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
inline bool IsPunctuation(char c) { return absl::ascii_ispunct(static_cast<unsigned char>(c)); }

// Returns the text with its letters lowered and without its punctuation, as asked: `text` itself or
// a view of *scratch.
std::string_view StandardizeText(std::string_view text, bool lowers, bool strips_punctuation,
                                 std::string* scratch);

// Calls add(begin, size) for each word of the text, which `is_separator` separates.
template <typename IsSeparator, typename Add>
void ForEachWord(std::string_view text, IsSeparator is_separator, Add add) {
  auto word = std::find_if_not(text.begin(), text.end(), is_separator);
  while (word != text.end()) {
    const auto end = std::find_if(word, text.end(), is_separator);
    add(static_cast<size_t>(word - text.begin()), static_cast<size_t>(end - word));
    word = std::find_if_not(end, text.end(), is_separator);
  }
}

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_WORDS_H_
