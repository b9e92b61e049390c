#include "runtime/io/identity.h"

#include <sys/stat.h>

#include "absl/strings/str_format.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/little_endian.h"

namespace tpurun {

std::string IdentityOf(std::string_view bytes) {
  return absl::StrFormat("%d %08x", bytes.size(), crc32c::Value(bytes));
}

std::string FileStamp(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return "absent";
  return absl::StrFormat("%d %d.%09d", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

void ListIdentity::Add(std::string_view text) {
  std::string size;
  AppendU64(text.size(), &size);
  crc_ = crc32c::Extend(crc_, size.data(), size.size());
  crc_ = crc32c::Extend(crc_, text.data(), text.size());
  ++count_;
}

std::string ListIdentity::text() const { return absl::StrFormat("%d %08x", count_, crc_); }

}  // namespace tpurun
