#include "runtime/base/cpu.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

namespace tpurun {
namespace {
constexpr uint32_t kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
}  // namespace

ScopedFlushDenormals::ScopedFlushDenormals() : saved_(_mm_getcsr()) {
  _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero);
}

ScopedFlushDenormals::~ScopedFlushDenormals() { _mm_setcsr(saved_); }

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool PinThread(pthread_t thread, int cpu) { return PinThread(thread, std::span(&cpu, 1)); }

bool PinThread(pthread_t thread, std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  return pthread_setaffinity_np(thread, sizeof(set), &set) == 0;
}

std::chrono::nanoseconds CpuTime(pthread_t thread) {
  clockid_t clock;
  timespec time;
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return std::chrono::nanoseconds::zero();
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void FutexWait(const std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void FutexWaitFor(const std::atomic<uint32_t>& word, uint32_t expected,
                  std::chrono::nanoseconds most) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec timeout = {.tv_sec = seconds.count(), .tv_nsec = (most - seconds).count()};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

void FutexWakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tpurun
