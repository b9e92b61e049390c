#include "data/transforms/unicode.h"

#include <unicode/locid.h>
#include <unicode/stringpiece.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"

namespace tpurun {

void LowerUtf8(std::string_view text, std::string* lowered) {
  text = text.substr(0, text.find('\0'));
  lowered->clear();
  if (std::all_of(text.begin(), text.end(), absl::ascii_isascii)) {
    lowered->resize(text.size());
    std::transform(text.begin(), text.end(), lowered->begin(), absl::ascii_tolower);
    return;
  }
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  icu::UnicodeString::fromUTF8(piece).toLower(icu::Locale::getRoot()).toUTF8String(*lowered);
}

Utf8Sequence FirstSequence(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto most = static_cast<int32_t>(std::min<size_t>(text.size(), 4));
  int32_t size = 0;
  UChar32 character = 0;
  U8_NEXT(bytes, size, most, character);
  return {static_cast<size_t>(size), character >= 0};
}

}  // namespace tpurun
