// How the process ends where the system refuses memory.
//
// out_of_memory.cc stands between everyone who allocates and the C library: its malloc, its
// relatives and its mmap are found first by this program and by all shared libraries, and where the
// C library's give null, they end the process. There is no going on without memory: oneDNN 2.6
// writes to the null that it is given while it makes a primitive, libgomp exits with 1, and where a
// library does say so, a kernel would be left to the reference and have other bits. And only here
// the bytes are known, whoever asks: operator new, a library for its buffers, for the code that it
// compiles or for a thread's own variables. The one thing that the system refuses elsewhere is a
// thread (main.cc).
#ifndef TPURUN_CLI_OUT_OF_MEMORY_H_
#define TPURUN_CLI_OUT_OF_MEMORY_H_

namespace tpurun {

// Removes what is in the making (RemoveUnfinished), writes "tpurun: MESSAGE" to standard error and
// exits with 4. Allocates nothing. Any thread may call it; the first one speaks. The message is
// printf's.
[[noreturn, gnu::format(printf, 1, 2)]] void EndOutOfMemory(const char* format, ...);

// Where the address space is limited, all threads share the arena of the first: of their own, each
// would reserve 64 MiB, and one that cannot maps a page for every few bytes.
void UseOneArena();

// Ends the process now if the stack of this thread, the first one, cannot grow to what any verb
// needs: where it must grow and cannot, the system sends a signal.
void ReserveStack();

}  // namespace tpurun

#endif  // TPURUN_CLI_OUT_OF_MEMORY_H_
