#include "runtime/io/identity.h"

#include "absl/strings/str_format.h"
#include "runtime/io/crc32c.h"

namespace tpurun {

std::string IdentityOf(std::string_view bytes) {
  return absl::StrFormat("%d %08x", bytes.size(), crc32c::Value(bytes));
}

}  // namespace tpurun
