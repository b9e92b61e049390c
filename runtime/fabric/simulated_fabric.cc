#include "runtime/fabric/simulated_fabric.h"

#include <sched.h>

#include <chrono>
#include <thread>

#include "runtime/fabric/thread_fabric.h"

namespace tpurun {
namespace {

using SimulatedClock = std::chrono::steady_clock;

// Linux ends a sleep up to 50 microseconds late, so the thread yields for the last ones.
constexpr std::chrono::microseconds kLateWakeup(100);

void SleepUntil(SimulatedClock::time_point end) {
  if (end - SimulatedClock::now() > kLateWakeup) std::this_thread::sleep_until(end - kLateWakeup);
  while (SimulatedClock::now() < end) sched_yield();
}

}  // namespace

std::vector<std::unique_ptr<Fabric>> MakeSimulatedFabrics(int size, const Link& link) {
  return MakeThreadFabrics(
      size, [link](SimulatedClock::time_point begin, size_t sent, size_t received) {
        const std::chrono::duration<double> seconds(
            link.Seconds({static_cast<int64_t>(sent), static_cast<int64_t>(received)}));
        SleepUntil(begin + std::chrono::ceil<SimulatedClock::duration>(seconds));
      });
}

}  // namespace tpurun
