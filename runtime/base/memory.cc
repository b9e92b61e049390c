#include "runtime/base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/str_format.h"

namespace tpurun {

int64_t MemoryBytes() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  // As a container sees its own group, of the second version of control groups and of the first; a
  // group without a limit says "max", or a number near 2^63.
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

std::string GibText(double bytes) { return absl::StrFormat("%.1f GiB", bytes / (1 << 30)); }

}  // namespace tpurun
