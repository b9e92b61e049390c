// The TFRecord framing, used by data files and event files:
//   file   := record*                       (no header, no trailer; 0 bytes are an empty file)
//   record := length    u64 little-endian   of payload; 0 is legal
//             checksum  u32 little-endian   masked crc32c of the 8 bytes of length
//             payload   length bytes
//             checksum  u32 little-endian   masked crc32c of payload
// Compression, if any, covers the whole file.
// Source: tensorflow/core/lib/io/record_writer.h.
#ifndef TPURUN_RUNTIME_IO_RECORD_FORMAT_H_
#define TPURUN_RUNTIME_IO_RECORD_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace tpurun {

inline constexpr size_t kRecordLengthBytes = 8;
inline constexpr size_t kRecordHeaderBytes = 12;  // length and its checksum
inline constexpr size_t kRecordFooterBytes = 4;   // the payload's checksum

// The compression is never guessed from the bytes or the name: as in TensorFlow it is an option,
// "", "GZIP" or "ZLIB".
enum class Compression { kNone, kGzip, kZlib };

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_RECORD_FORMAT_H_
