// Barrier for a fixed number of threads. The last thread to arrive runs a function before all are
// released. Waiting threads spin for about 20 microseconds and then sleep. With more threads than
// CPUs they sleep at once.
#ifndef TPURUN_RUNTIME_DEVICE_BARRIER_H_
#define TPURUN_RUNTIME_DEVICE_BARRIER_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "runtime/base/cpu.h"
#include "runtime/base/dcheck.h"

namespace tpurun {

// Calls done() for about 20 microseconds, until it returns true. Returns what it returned last.
template <typename Done>
bool SpinUntil(Done done) {
  constexpr auto kSpin = std::chrono::microseconds(20);  // about two futex round trips
  std::chrono::steady_clock::time_point until = {};
  while (true) {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      SpinPause();
    }
    // Short waits need no clock.
    const auto now = std::chrono::steady_clock::now();
    if (until == std::chrono::steady_clock::time_point()) {
      until = now + kSpin;
    } else if (now >= until) {
      return false;
    }
  }
}

// Waits until `word` differs from `seen`.
inline void WaitWhile(const std::atomic<uint32_t>& word, uint32_t seen, std::atomic<int>& sleepers,
                      bool spin) {
  if (spin && SpinUntil([&] { return word.load(std::memory_order_acquire) != seen; })) return;
  sleepers.fetch_add(1);
  while (word.load() == seen) FutexWait(word, seen);
  sleepers.fetch_sub(1);
}

class Barrier {
 public:
  Barrier(int threads, bool spin) : threads_(threads), spin_(spin) {}

  template <typename Leader>
  void Arrive(Leader leader) {
    const uint32_t generation = generation_.load(std::memory_order_relaxed);
    const int arrived = arrived_.fetch_add(1, std::memory_order_acq_rel) + 1;
    // Only the barrier's threads arrive, and none arrives twice before all are released.
    TPURUN_DCHECK(arrived <= threads_);
    if (arrived == threads_) {
      leader();
      arrived_.store(0, std::memory_order_relaxed);
      generation_.store(generation + 1);
      if (sleepers_.load() > 0) FutexWakeAll(generation_);
      return;
    }
    WaitWhile(generation_, generation, sleepers_, spin_);
  }

 private:
  const int threads_;
  const bool spin_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<int> sleepers_{0};
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_BARRIER_H_
