// Ends the process when the system refuses memory.
//
// out_of_memory.cc interposes malloc, its relatives and mmap of the C library, for this program and
// all shared libraries. If the C library's function returns null, it ends the process. Continuing
// without memory is not possible: oneDNN 2.6 writes to a null pointer while it makes a primitive,
// and libgomp exits with 1. If a library does report the failure, a kernel would fall back to the
// reference and have other bits. Only here the number of bytes is known for every caller: operator
// new, and libraries that allocate buffers, compiled code or thread-local variables. The one thing
// that the system refuses elsewhere is a thread (main.cc).
#ifndef TPURUN_CLI_OUT_OF_MEMORY_H_
#define TPURUN_CLI_OUT_OF_MEMORY_H_

namespace tpurun {

// Removes unfinished files (RemoveUnfinished), writes "tpurun: MESSAGE" to standard error and exits
// with 4. Allocates nothing. Any thread may call it; only the first call writes its message. The
// message is in printf's format.
[[noreturn, gnu::format(printf, 1, 2)]] void EndOutOfMemory(const char* format, ...);

// If the address space is limited, makes all threads share the first thread's malloc arena. Arenas
// of their own would reserve 64 MiB each, and a thread that cannot reserve one maps a page for
// every few bytes.
void UseOneArena();

// Ends the process now if the stack of this thread, the first one, cannot grow to the size that any
// verb needs. Later the system would send a signal when the stack cannot grow.
void ReserveStack();

}  // namespace tpurun

#endif  // TPURUN_CLI_OUT_OF_MEMORY_H_
