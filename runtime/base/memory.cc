#include "runtime/base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/str_format.h"

namespace tpurun {
namespace {

thread_local const MemoryUse* innermost = nullptr;

}  // namespace

int64_t MemoryBytes() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  // As a container sees its own group, of the second version of control groups and of the first; a
  // group without a limit says "max", or a number near 2^63.
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  rlimit address_space;
  if (getrlimit(RLIMIT_AS, &address_space) == 0) {
    bytes = static_cast<int64_t>(std::min<rlim_t>(bytes, address_space.rlim_cur));
  }
  return bytes;
}

std::string BytesText(double bytes) {
  if (bytes < (1 << 20)) return absl::StrFormat("%.0f bytes", bytes);
  if (bytes < (1 << 30)) return absl::StrFormat("%.1f MiB", bytes / (1 << 20));
  return absl::StrFormat("%.1f GiB", bytes / (1 << 30));
}

MemoryUse::MemoryUse(std::string_view what, std::string_view remedy)
    : what_(what), remedy_(remedy), outer_(innermost) {
  innermost = this;
}

MemoryUse::~MemoryUse() { innermost = outer_; }

const MemoryUse* MemoryUse::Innermost() { return innermost; }

MemoryReserve::MemoryReserve(size_t bytes)
    : memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
      bytes_(bytes) {}

void MemoryReserve::Release() {
  if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
  memory_ = MAP_FAILED;
}

}  // namespace tpurun
