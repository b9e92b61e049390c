// Fixed-width integers in files: little-endian on every machine.
#ifndef TPURUN_RUNTIME_IO_LITTLE_ENDIAN_H_
#define TPURUN_RUNTIME_IO_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace tpurun {

template <typename T>  // an unsigned integer
inline T LoadLittleEndian(const char* bytes) {
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, bytes, sizeof value);
  } else {
    for (size_t byte = sizeof value; byte > 0; --byte) {
      value = static_cast<T>(value << 8 | static_cast<uint8_t>(bytes[byte - 1]));
    }
  }
  return value;
}
inline uint32_t LoadU32(const char* bytes) { return LoadLittleEndian<uint32_t>(bytes); }
inline uint64_t LoadU64(const char* bytes) { return LoadLittleEndian<uint64_t>(bytes); }

inline void AppendLittleEndian(uint64_t value, size_t size, std::string* out) {
  for (size_t byte = 0; byte < size; ++byte) *out += static_cast<char>(value >> (8 * byte));
}
inline void AppendU32(uint32_t value, std::string* out) { AppendLittleEndian(value, 4, out); }
inline void AppendU64(uint64_t value, std::string* out) { AppendLittleEndian(value, 8, out); }

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_LITTLE_ENDIAN_H_
