// Threads without signals.
#ifndef TPURUN_RUNTIME_BASE_BLOCKED_SIGNALS_H_
#define TPURUN_RUNTIME_BASE_BLOCKED_SIGNALS_H_

#include <signal.h>

namespace tpurun {

// While it lives, the calling thread blocks signals, and so do for good the threads that it starts:
// the process's signals go to other threads. Faults of a thread itself (SIGSEGV) are not blocked.
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

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_BLOCKED_SIGNALS_H_
