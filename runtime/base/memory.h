// How much memory there is, and what it is asked for.
#ifndef TPURUN_RUNTIME_BASE_MEMORY_H_
#define TPURUN_RUNTIME_BASE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tpurun {

// What this process can have at most: the machine's memory, its control group's (a container's) or
// the limit of its address space (ulimit -v), whichever is least.
int64_t MemoryBytes();

// "1.5 GiB", "24.0 MiB"; below one of these, "28000 bytes".
std::string BytesText(double bytes);

// Says, while it lives, what this thread allocates for, and what to do where that does not fit: the
// message of an allocation that fails has both (cli/out_of_memory.h). The innermost counts. Both
// texts are borrowed.
class MemoryUse {
 public:
  MemoryUse(std::string_view what, std::string_view remedy);
  ~MemoryUse();
  MemoryUse(const MemoryUse&) = delete;
  MemoryUse& operator=(const MemoryUse&) = delete;

  // Of this thread; null without one.
  static const MemoryUse* Innermost();

  std::string_view what() const { return what_; }      // "the cache of the input"
  std::string_view remedy() const { return remedy_; }  // "leave cache out"

 private:
  const std::string_view what_, remedy_;
  const MemoryUse* const outer_;
};

// Memory that is held for what comes later: until it is released, an allocation fails while there
// are still so many bytes. Where there are not, ends the process as any allocation does. Its pages
// are never touched.
class MemoryReserve {
 public:
  explicit MemoryReserve(size_t bytes);
  ~MemoryReserve() { Release(); }
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  void Release();

 private:
  void* memory_;
  const size_t bytes_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_MEMORY_H_
