// The memory that this process may use, and what it allocates memory for.
#ifndef TPURUN_RUNTIME_BASE_MEMORY_H_
#define TPURUN_RUNTIME_BASE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tpurun {

// The most bytes that this process can have: the least of the machine's memory, the limit of its
// control group (a container) and the limit of its address space (ulimit -v).
int64_t MemoryBytes();

// "1.5 GiB", "24.0 MiB"; "28000 bytes" below 1 MiB.
std::string BytesText(double bytes);

// While the object lives, it says what this thread allocates memory for, and what to do if that
// does not fit. The message of a failed allocation has both texts (cli/out_of_memory.h). The
// innermost object of the thread counts. Both texts must outlive the object.
class MemoryUse {
 public:
  MemoryUse(std::string_view what, std::string_view remedy);
  ~MemoryUse();
  MemoryUse(const MemoryUse&) = delete;
  MemoryUse& operator=(const MemoryUse&) = delete;

  // The innermost object of this thread, or nullptr if there is none.
  static const MemoryUse* Innermost();

  std::string_view what() const { return what_; }      // "the cache of the input"
  std::string_view remedy() const { return remedy_; }  // "leave cache out"

 private:
  const std::string_view what_, remedy_;
  const MemoryUse* const outer_;
};

// Holds `bytes` bytes of address space for later allocations: until Release, other allocations fail
// although that many bytes are still free. If there are fewer, the process ends as after any failed
// allocation (cli/out_of_memory.h). The pages are never touched.
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
