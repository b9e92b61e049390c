// Ticks: a clock that is read in about 10 ns, for spans of a worker's time.
#ifndef TPURUN_RUNTIME_BASE_TICKS_H_
#define TPURUN_RUNTIME_BASE_TICKS_H_

#include <chrono>
#include <cstdint>
#include <limits>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tpurun {

// The time stamp counter of the processor. It runs at one constant rate on all cores (Intel's
// manual, volume 3, "invariant TSC"). Elsewhere nanoseconds of the steady clock.
inline int64_t Ticks() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__rdtsc());
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// One moment on both clocks. Two of them give the rate of the ticks.
struct TickMark {
  int64_t ticks = 0;
  std::chrono::steady_clock::time_point time;

  // Of several readings the one with the least time between both clocks: a thread that loses its
  // CPU between them would spoil the rate.
  static TickMark Now() {
    TickMark best;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int reading = 0; reading < 4; ++reading) {
      const int64_t before = Ticks();
      const auto time = std::chrono::steady_clock::now();
      const int64_t between = Ticks() - before;
      if (between >= least) continue;
      least = between;
      best = {before + between / 2, time};
    }
    return best;
  }
};

inline double SecondsPerTick(const TickMark& begin, const TickMark& end) {
  const std::chrono::duration<double> seconds = end.time - begin.time;
  return end.ticks > begin.ticks ? seconds.count() / static_cast<double>(end.ticks - begin.ticks)
                                 : 0;
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_TICKS_H_
