// Signal handling. Interrupts are SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGXCPU.
#ifndef TPURUN_CLI_SIGNALS_H_
#define TPURUN_CLI_SIGNALS_H_

#include <atomic>
#include <string>
#include <vector>

namespace tpurun {

enum class OnInterrupt {
  // The first interrupt is only counted (the run stops at the next step and saves). The second ends
  // the process with exit code 128 + its number. The same signal again within half a second is the
  // same interrupt. A SIGXCPU after any other interrupt is ignored, because the system repeats it
  // every second.
  kFinishStep,
  // The first interrupt ends the process with exit code 128 + its number.
  kExit,
};

// Installs the handlers. May be called again to change the effect of an interrupt. A signal that
// was ignored at the start stays ignored: SIGHUP under nohup, SIGINT and SIGQUIT in a shell's
// background job. SIGPIPE and SIGXFSZ are ignored: a closed standard output and a file that may not
// grow are then reported as write errors.
void InstallSignalHandlers(OnInterrupt on_interrupt);

// Sets the unfinished files, which are removed when an interrupt or refused memory ends the
// process. The files need not exist. Only the first thread may call it and make such files: it
// handles the interrupts, whichever thread gets them.
void RemoveOnInterrupt(std::vector<std::string> paths);
// Sets the text that an interrupt that ends the process writes to standard error. Only one thread
// may call it.
void SayOnInterrupt(std::string text);
// Removes the unfinished files. Any thread or signal handler may call it; it allocates nothing.
void RemoveUnfinished();

// The number of interrupts so far. Any thread may read it.
const std::atomic<int>& InterruptCount();

}  // namespace tpurun

#endif  // TPURUN_CLI_SIGNALS_H_
