// Varints as in protobuf and leveldb: 7 bits per byte, low bits first, and the top bit set in all
// bytes but the last.
#ifndef TPURUN_RUNTIME_IO_VARINT_H_
#define TPURUN_RUNTIME_IO_VARINT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tpurun {

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}

// The result of LongVarint. `rest` is the first byte after the varint, or nullptr if there is no
// varint.
struct FoundVarint {
  const char* rest = nullptr;
  uint64_t value = 0;
};

// Reads a varint of any length at the front of [begin, end). It is not inlined and works in
// registers, so that loops over short varints stay short.
[[gnu::noinline]] inline FoundVarint LongVarint(const char* begin, const char* end) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && begin < end; shift += 7) {
    const uint64_t byte = static_cast<uint8_t>(*begin++);
    if (shift == 63 && byte > 1) return {};
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return {begin, value};
  }
  return {};
}

// Removes a varint from the front of *bytes. Returns false, with *bytes unspecified, if the varint
// is cut short or longer than 64 bits.
[[gnu::always_inline]] inline bool ConsumeVarint(std::string_view* bytes, uint64_t* value) {
  const char* const begin = bytes->data();
  const size_t size = bytes->size();
  if (size >= 1 && static_cast<uint8_t>(begin[0]) < 0x80) {  // most have one byte or two
    *value = static_cast<uint8_t>(begin[0]);
    *bytes = {begin + 1, size - 1};
    return true;
  }
  if (size >= 2 && static_cast<uint8_t>(begin[1]) < 0x80) {
    *value = (static_cast<uint8_t>(begin[0]) & 0x7f) | uint64_t{static_cast<uint8_t>(begin[1])}
                                                           << 7;
    *bytes = {begin + 2, size - 2};
    return true;
  }
  const FoundVarint found = LongVarint(begin, begin + size);
  if (found.rest == nullptr) return false;
  *value = found.value;
  *bytes = {found.rest, static_cast<size_t>(begin + size - found.rest)};
  return true;
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_VARINT_H_
