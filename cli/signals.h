// What signals do. Interrupts are SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGXCPU.
#ifndef TPURUN_CLI_SIGNALS_H_
#define TPURUN_CLI_SIGNALS_H_

#include <atomic>
#include <string>
#include <vector>

namespace tpurun {

enum class OnInterrupt {
  // The first interrupt only counts (the run stops at the next step and saves); the second ends the
  // process with exit code 128 and its number. The same signal again within half a second is the
  // same interrupt, and a SIGXCPU after any other is none: the system repeats it each second.
  kFinishStep,
  // The first one ends the process with that code.
  kExit,
};

// Installs the handlers; may be called again, to change what an interrupt does. A signal that was
// ignored at the start stays so: SIGHUP under nohup, SIGINT and SIGQUIT of a shell's background
// job. SIGPIPE and SIGXFSZ are ignored: a closed standard output and a file that may not grow show
// up as write errors.
void InstallSignalHandlers(OnInterrupt on_interrupt);

// An interrupt that ends the process, or memory that is refused, removes these files first: what is
// in the making then. They need not exist. One thread calls it.
void RemoveOnInterrupt(std::vector<std::string> paths);
// Removes them. Any thread or signal handler may call it; it allocates nothing.
void RemoveUnfinished();

// The number of interrupts so far. Any thread may read it.
const std::atomic<int>& InterruptCount();

}  // namespace tpurun

#endif  // TPURUN_CLI_SIGNALS_H_
