// The processor: floating-point mode, CPU affinity, and futexes (sleeping until a word changes).
#ifndef TPURUN_RUNTIME_BASE_CPU_H_
#define TPURUN_RUNTIME_BASE_CPU_H_

#include <atomic>
#include <cstdint>
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
// Binds the calling thread to one CPU. Returns false if the system refuses.
bool PinThisThread(int cpu);

inline void SpinPause() { __builtin_ia32_pause(); }

// Sleeps while `word` holds `expected`. May return early (spuriously).
void FutexWait(const std::atomic<uint32_t>& word, uint32_t expected);
void FutexWakeAll(const std::atomic<uint32_t>& word);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_CPU_H_
