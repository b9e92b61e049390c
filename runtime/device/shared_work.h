// SharedWork: the units of one phase after the other, computed by a fixed number of workers. Each
// worker owns an equal range of the units of a phase and claims them from its begin; who has none
// left may claim those of others from their end. A phase ends when all its units are computed, with
// or without a worker that the system does not run.
#ifndef TPURUN_RUNTIME_DEVICE_SHARED_WORK_H_
#define TPURUN_RUNTIME_DEVICE_SHARED_WORK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/base/dcheck.h"

namespace tpurun {

class SharedWork {
 public:
  static constexpr int kMostUnits = 255;
  static constexpr int kMostWorkers = 255;  // of those that may compute a phase alone

  struct Phase {
    uint64_t number = 0;  // from 1 on
    int units = 0;        // 0: the work has ended
    int only = -1;        // the worker that computes it; -1: all do
  };

  // Workers that spin wait about 20 microseconds before they sleep.
  SharedWork(int workers, bool spin) : workers_(workers), spin_(spin), claims_(workers) {}

  // Begins the next phase. Only before the workers start, and in the thread for which Finish has
  // returned true. What this thread has written before is seen by who claims a unit. `unclaimed`
  // units more have to be computed, which nobody claims. If `only` is a worker, the others keep
  // waiting.
  void Begin(int units, int unclaimed = 0, int only = -1);
  // As Begin, of a phase without units.
  void End() { Begin(0); }

  // Waits for a phase of `worker` after number `seen`, and returns it.
  Phase Wait(int worker, uint64_t seen) {
    return Sleep(worker, seen, std::chrono::nanoseconds::max());
  }
  // As Wait, but for a limited time, after which it returns a phase with number `seen`, and with
  // the worker that computes the current one.
  Phase Spin(int worker, uint64_t seen);
  Phase Sleep(int worker, uint64_t seen, std::chrono::nanoseconds most);

  // Claims a unit of `owner` for `worker`. Returns -1 if there is none or `phase` has ended.
  int Claim(const Phase& phase, int worker, int owner);
  // Tells that the caller has computed `units` more units. Returns true if they were the last of
  // the phase.
  bool Finish(int units) { return left_.fetch_sub(units, std::memory_order_acq_rel) == units; }

 private:
  struct alignas(64) Claims {
    // Of the last phase in which a unit of the owner was claimed: number << 16 | begin << 8 | end,
    // of the units that nobody has claimed.
    std::atomic<uint64_t> word{0};
  };

  Phase Current() const;
  // The current phase, with number `seen` if it is not one of `worker`.
  Phase Next(int worker, uint64_t seen) const;

  const int workers_;
  const bool spin_;
  std::vector<Claims> claims_;                  // [owner]
  alignas(64) std::atomic<uint64_t> phase_{0};  // number << 16 | (only + 1) << 8 | units
  std::atomic<uint32_t> changes_{0};            // of phase_, to sleep on
  alignas(64) std::atomic<int> left_{0};        // units of the phase that are not computed
  alignas(64) std::atomic<int> sleepers_{0};
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_SHARED_WORK_H_
