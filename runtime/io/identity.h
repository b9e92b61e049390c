// A short text that identifies the content of a file.
#ifndef TPURUN_RUNTIME_IO_IDENTITY_H_
#define TPURUN_RUNTIME_IO_IDENTITY_H_

#include <string>
#include <string_view>

namespace tpurun {

// "LENGTH CRC32C": the length in bytes in decimal, and the checksum in 8 hexadecimal digits.
std::string IdentityOf(std::string_view bytes);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_IDENTITY_H_
