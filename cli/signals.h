// What SIGINT, SIGTERM, SIGHUP, SIGPIPE and SIGXFSZ do.
#ifndef TPURUN_CLI_SIGNALS_H_
#define TPURUN_CLI_SIGNALS_H_

#include <atomic>
#include <string>
#include <vector>

namespace tpurun {

enum class OnInterrupt {
  // The first SIGINT, SIGTERM or SIGHUP only counts (the run stops at the next step and saves); the
  // second ends the process with exit code 130 (SIGINT), 143 (SIGTERM) or 129 (SIGHUP). The same
  // signal again within half a second is the same interrupt.
  kFinishStep,
  // The first one ends the process with that code.
  kExit,
};

// Installs the handlers; may be called again, to change what an interrupt does. A SIGHUP that was
// ignored at the start, as under nohup, stays so. SIGPIPE and SIGXFSZ are ignored: a closed
// standard output and a file that may not grow show up as write errors.
void InstallSignalHandlers(OnInterrupt on_interrupt);

// An interrupt that ends the process, or memory that is refused, removes these files first: what is
// in the making then. They need not exist. One thread calls it.
void RemoveOnInterrupt(std::vector<std::string> paths);
// Removes them. Any thread or signal handler may call it; it allocates nothing.
void RemoveUnfinished();

// The number of SIGINT, SIGTERM and SIGHUP so far. Any thread may read it.
const std::atomic<int>& InterruptCount();

}  // namespace tpurun

#endif  // TPURUN_CLI_SIGNALS_H_
