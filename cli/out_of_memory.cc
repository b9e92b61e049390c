#include "cli/out_of_memory.h"

#include <alloca.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "absl/status/status.h"
#include "cli/signals.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr size_t kStackBytes = 1 << 20;
constexpr size_t kPageBytes = 4096;

}  // namespace

void EndOutOfMemory(const char* format, ...) {
  static std::atomic_flag ends = ATOMIC_FLAG_INIT;
  while (ends.test_and_set()) pause();
  RemoveUnfinished();
  char message[1024] = "tpurun: ";
  const size_t prefix = std::strlen(message);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message + prefix, sizeof(message) - prefix - 1, format, arguments);
  va_end(arguments);
  const size_t size = std::strlen(message);
  MaskUnprintable(message, size);
  message[size] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, size + 1);
  _exit(ExitCode(absl::ResourceExhaustedError("")));
}

void UseOneArena() {
  rlimit address_space;
  if (getrlimit(RLIMIT_AS, &address_space) != 0) return;
  if (address_space.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

void ReserveStack() {
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  const size_t bytes = std::min<rlim_t>(kStackBytes, limit.rlim_cur / 2);
  MemoryReserve(bytes).Release();  // ends the process where they are not there
  // Page by page from its top; what it has grown to it keeps.
  volatile char* const stack = static_cast<volatile char*>(alloca(bytes));
  for (size_t end = bytes; end > kPageBytes; end -= kPageBytes) stack[end - 1] = 0;
}

}  // namespace tpurun

// The sanitizers have an allocator of their own, which says what it could not have.
#ifndef TPURUN_SANITIZED

namespace tpurun {
namespace {

[[noreturn]] void EndWithoutBytes(size_t bytes) {
  const MemoryUse* const use = MemoryUse::Innermost();
  const std::string_view what = use == nullptr ? "the program" : use->what();
  const std::string_view remedy =
      use == nullptr ? "lower the batch size or the units" : use->remedy();
  EndOutOfMemory(
      "out of memory: cannot have %zu more bytes for %.*s; %.*s, or raise the limit on memory",
      bytes, static_cast<int>(what.size()), what.data(), static_cast<int>(remedy.size()),
      remedy.data());
}

void* Had(void* memory, size_t bytes) {
  if (memory == nullptr && bytes > 0) EndWithoutBytes(bytes);
  return memory;
}

}  // namespace
}  // namespace tpurun

extern "C" {

// glibc's allocator under its inner names.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) { return tpurun::Had(__libc_malloc(size), size); }
void* calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  return tpurun::Had(__libc_calloc(count, size), bytes);
}
void* realloc(void* memory, size_t size) { return tpurun::Had(__libc_realloc(memory, size), size); }
void* memalign(size_t alignment, size_t size) {
  return tpurun::Had(__libc_memalign(alignment, size), size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  *memory = memalign(alignment, size);
  return 0;
}

// The C library's own calls do not come here: the allocator tries more than one way.
void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  const long got = syscall(SYS_mmap, address, size, protection, flags, fd, offset);
  if (got == -1 && errno == ENOMEM) tpurun::EndWithoutBytes(size);
  return reinterpret_cast<void*>(got);
}

}  // extern "C"

#endif  // TPURUN_SANITIZED
