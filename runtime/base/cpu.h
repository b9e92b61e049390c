// The processor: floating-point mode, CPU affinity, and futexes (sleeping until a word changes).
#ifndef TPURUN_RUNTIME_BASE_CPU_H_
#define TPURUN_RUNTIME_BASE_CPU_H_

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace tpurun {

// While the object lives, subnormal results and inputs count as zero (FTZ, DAZ) in this thread. All
// arithmetic on values runs in this mode: in workers, infeed and reference interpreter.
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals();
  ~ScopedFlushDenormals();
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;

 private:
  uint32_t saved_;
};

// The numbers of the CPUs that this process may run on, in ascending order.
std::vector<int> AllowedCpus();
// Binds a thread to one CPU, or to several. Returns false if the system refuses.
bool PinThread(pthread_t thread, int cpu);
bool PinThread(pthread_t thread, std::span<const int> cpus);
// The time that a thread of this process has run on CPUs; 0 if the system does not tell.
std::chrono::nanoseconds CpuTime(pthread_t thread);

inline void SpinPause() { __builtin_ia32_pause(); }

// Sleeps while `word` holds `expected`. May return early (spuriously).
void FutexWait(const std::atomic<uint32_t>& word, uint32_t expected);
// As FutexWait, for at most so long.
void FutexWaitFor(const std::atomic<uint32_t>& word, uint32_t expected,
                  std::chrono::nanoseconds most);
void FutexWakeAll(const std::atomic<uint32_t>& word);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_CPU_H_
