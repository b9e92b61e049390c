// Threads of this program. They block signals, so that those of the process go to its first thread,
// which handles them (cli/signals.h).
#ifndef TPURUN_RUNTIME_BASE_THREADS_H_
#define TPURUN_RUNTIME_BASE_THREADS_H_

#include <signal.h>

#include <thread>
#include <utility>

namespace tpurun {

// While it lives, the calling thread blocks signals, and so do for good the threads that it starts.
// Faults of a thread itself (SIGSEGV) are not blocked.
class ScopedBlockedSignals {
 public:
  ScopedBlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~ScopedBlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ScopedBlockedSignals(const ScopedBlockedSignals&) = delete;
  ScopedBlockedSignals& operator=(const ScopedBlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// A thread that runs f(). Throws std::system_error, as std::thread does.
template <typename F>
std::thread StartThread(F f) {
  const ScopedBlockedSignals no_signals;
  return std::thread(std::move(f));
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_THREADS_H_
