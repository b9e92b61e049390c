#include "runtime/device/shared_work.h"

#include "runtime/base/cpu.h"
#include "runtime/device/barrier.h"

namespace tpurun {
namespace {

// 48 bits of a phase's number: 2^48 phases of a microsecond are nine years.
constexpr int kNumberShift = 16, kBeginShift = 8, kOnlyShift = 8;
constexpr uint64_t kByte = 0xff;

}  // namespace

void SharedWork::Begin(int units, int unclaimed, int only) {
  TPURUN_DCHECK(units >= 0 && units <= kMostUnits);
  TPURUN_DCHECK(only < kMostWorkers);
  TPURUN_DCHECK(left_.load() == 0);
  left_.store(units + unclaimed, std::memory_order_relaxed);
  const uint64_t number = Current().number + 1;
  phase_.store(number << kNumberShift | static_cast<uint64_t>(only + 1) << kOnlyShift |
               static_cast<uint64_t>(units));
  if (only >= 0) return;
  changes_.fetch_add(1);
  if (sleepers_.load() > 0) FutexWakeAll(changes_);
}

SharedWork::Phase SharedWork::Current() const {
  const uint64_t word = phase_.load(std::memory_order_acquire);
  return {.number = word >> kNumberShift,
          .units = static_cast<int>(word & kByte),
          .only = static_cast<int>(word >> kOnlyShift & kByte) - 1};
}

SharedWork::Phase SharedWork::Next(int worker, uint64_t seen) const {
  Phase phase = Current();
  if (phase.only >= 0 && phase.only != worker) phase.number = seen;
  return phase;
}

SharedWork::Phase SharedWork::Spin(int worker, uint64_t seen) {
  Phase phase = Next(worker, seen);
  if (spin_ && phase.number == seen)
    SpinUntil([&] { return (phase = Next(worker, seen)).number != seen; });
  return phase;
}

SharedWork::Phase SharedWork::Sleep(int worker, uint64_t seen, std::chrono::nanoseconds most) {
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::nanoseconds left = most;
  sleepers_.fetch_add(1);
  while (true) {
    const uint32_t changes = changes_.load();
    const Phase phase = Next(worker, seen);
    if (phase.number != seen || left <= std::chrono::nanoseconds::zero()) {
      sleepers_.fetch_sub(1);
      return phase;
    }
    if (most == std::chrono::nanoseconds::max()) {
      FutexWait(changes_, changes);
    } else {
      FutexWaitFor(changes_, changes, left);
      left = most - (std::chrono::steady_clock::now() - begin);
    }
  }
}

int SharedWork::Claim(const Phase& phase, int worker, int owner) {
  std::atomic<uint64_t>& claims = claims_[owner].word;
  uint64_t word = claims.load(std::memory_order_acquire);
  while (true) {
    uint64_t begin = word >> kBeginShift & kByte, end = word & kByte;
    const uint64_t number = word >> kNumberShift;
    if (number > phase.number) return -1;
    if (number < phase.number) {
      begin = static_cast<uint64_t>(phase.units * owner / workers_);
      end = static_cast<uint64_t>(phase.units * (owner + 1) / workers_);
    }
    if (begin == end) return -1;
    const uint64_t unit = worker == owner ? begin++ : --end;
    const uint64_t next = phase.number << kNumberShift | begin << kBeginShift | end;
    if (claims.compare_exchange_weak(word, next, std::memory_order_acq_rel)) {
      return static_cast<int>(unit);
    }
  }
}

}  // namespace tpurun
