// Short texts that identify the content of files.
#ifndef TPURUN_RUNTIME_IO_IDENTITY_H_
#define TPURUN_RUNTIME_IO_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tpurun {

// "LENGTH CRC32C": the length in bytes in decimal, and the checksum in 8 hexadecimal digits.
std::string IdentityOf(std::string_view bytes);

// "SIZE TIME" of a file that is not read: its size in bytes, and the time of its last change in
// seconds since 1970 with nine decimals. "absent" if there is no such file.
std::string FileStamp(const std::string& path);

// The identity of a list of texts that need not be in memory together.
class ListIdentity {
 public:
  void Add(std::string_view text);
  // "COUNT CRC32C": the number of texts, and the checksum of all and of their lengths.
  std::string text() const;

 private:
  uint64_t count_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_IDENTITY_H_
