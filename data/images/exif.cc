#include "data/images/exif.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tpurun {
namespace {

using std::string_view_literals::operator""sv;

// Unsigned numbers in bytes, which may end anywhere.
class Numbers {
 public:
  Numbers(std::string_view bytes, bool little_endian)
      : bytes_(bytes), little_endian_(little_endian) {}

  std::optional<uint32_t> Read(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value = value << 8 | static_cast<uint8_t>(bytes_[at + (little_endian_ ? size - 1 - i : i)]);
    }
    return value;
  }

 private:
  const std::string_view bytes_;
  const bool little_endian_;
};

// Of the TIFF structure that EXIF data is: an entry of its first directory.
int OrientationOf(std::string_view tiff) {
  constexpr uint32_t kOrientation = 274, kShort = 3;
  constexpr size_t kEntryBytes = 12;
  if (!tiff.starts_with("II*\0"sv) && !tiff.starts_with("MM\0*"sv)) return 1;
  const Numbers numbers(tiff, tiff[0] == 'I');
  const size_t directory = numbers.Read(4, 4).value_or(0);
  const size_t entries = numbers.Read(directory, 2).value_or(0);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    const std::optional<uint32_t> tag = numbers.Read(entry, 2);
    if (!tag.has_value()) break;
    if (tag != kOrientation || numbers.Read(entry + 2, 2) != kShort) continue;
    const uint32_t value = numbers.Read(entry + 8, 2).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int ExifOrientation(std::string_view bytes) {
  constexpr uint32_t kApp1 = 0xffe1, kFirstSegment = 0xffc0, kStartOfScan = 0xffda;
  constexpr std::string_view kExif = "Exif\0\0"sv;
  if (!bytes.starts_with("\xff\xd8"sv)) return 1;
  const Numbers numbers(bytes, false);
  // Segments: a marker, and the size of what follows it, with its own 2 bytes.
  for (size_t at = 2;;) {
    const uint32_t marker = numbers.Read(at, 2).value_or(0);
    const size_t size = numbers.Read(at + 2, 2).value_or(0);
    if (marker < kFirstSegment || marker == kStartOfScan || size < 2) return 1;
    const std::string_view segment = bytes.substr(at + 4, size - 2);
    if (marker == kApp1 && segment.starts_with(kExif)) {
      return OrientationOf(segment.substr(kExif.size()));
    }
    at += 2 + size;
  }
}

}  // namespace tpurun
