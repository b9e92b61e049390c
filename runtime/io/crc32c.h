// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, RFC 3720 B.4): the checksum of records, of
// checkpoint tables and of tensors in checkpoints. Uses the crc32 instruction of SSE4.2 and
// PCLMULQDQ if the processor has both, else tables. The results are the same.
#ifndef TPURUN_RUNTIME_IO_CRC32C_H_
#define TPURUN_RUNTIME_IO_CRC32C_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tpurun::crc32c {

// The checksum of A followed by `data`, given `crc`, the checksum of A (0 if A is empty).
uint32_t Extend(uint32_t crc, const char* data, size_t size);

inline uint32_t Value(std::string_view data) { return Extend(0, data.data(), data.size()); }

// Files hold masked checksums, because the checksum of bytes that contain their own checksum is a
// constant.
constexpr uint32_t kMaskDelta = 0xA282EAD8;
inline uint32_t Mask(uint32_t crc) { return std::rotr(crc, 15) + kMaskDelta; }
inline uint32_t Unmask(uint32_t masked) { return std::rotl(masked - kMaskDelta, 15); }

inline uint32_t MaskedValue(std::string_view data) { return Mask(Value(data)); }

// The two implementations, for tests and benchmarks. ExtendByInstruction may only be called if
// HasInstruction().
bool HasInstruction();
uint32_t ExtendByInstruction(uint32_t crc, const char* data, size_t size);
uint32_t ExtendByTable(uint32_t crc, const char* data, size_t size);

}  // namespace tpurun::crc32c

#endif  // TPURUN_RUNTIME_IO_CRC32C_H_
