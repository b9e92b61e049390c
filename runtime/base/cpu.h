// The processor: floating point mode, affinity, and sleeping on a word.
#ifndef TPURUN_RUNTIME_BASE_CPU_H_
#define TPURUN_RUNTIME_BASE_CPU_H_

#include <atomic>
#include <cstdint>
#include <vector>

namespace tpurun {

// Subnormal results and inputs count as zero (FTZ, DAZ) in this thread while the object lives. All
// arithmetic on values runs so: workers, infeed and reference interpreter.
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals();
  ~ScopedFlushDenormals();
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;

 private:
  uint32_t saved_;
};

// The CPUs that this process may run on, rising.
std::vector<int> AllowedCpus();
// Binds the calling thread to one CPU; false when the system refuses.
bool PinThisThread(int cpu);

inline void SpinPause() { __builtin_ia32_pause(); }

// Sleeps while `word` holds `expected` (spurious returns are possible); wakes every sleeper.
void FutexWait(const std::atomic<uint32_t>& word, uint32_t expected);
void FutexWakeAll(const std::atomic<uint32_t>& word);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_CPU_H_
