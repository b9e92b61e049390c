// Characters of UTF-8, as International Components for Unicode (ICU) have them, which TensorFlow
// uses too.
#ifndef TPURUN_DATA_TRANSFORMS_UNICODE_H_
#define TPURUN_DATA_TRANSFORMS_UNICODE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tpurun {

// Puts the text with all letters lowered, by the rules of no language in particular, into *lowered.
// The text ends before its first byte of 0, and U+FFFD replaces bytes that are not UTF-8, as in
// tf.strings.lower(encoding='utf-8'). The text has less than 2^30 bytes.
void LowerUtf8(std::string_view text, std::string* lowered);

// The first character of a text that is not empty, or the bytes that one U+FFFD replaces: those
// that are not UTF-8 and could have begun a character (Unicode 15, section 3.9, table 3-8), where
// FirstCharacter of runtime/base has each of them.
struct Utf8Sequence {
  size_t size = 0;  // bytes of the text, at least 1
  bool valid = true;
};
Utf8Sequence FirstSequence(std::string_view text);

// U+FFFD, which replaces bytes that are not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_UNICODE_H_
