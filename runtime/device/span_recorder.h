// SpanRecorder: what a worker tells a RunProfile while it runs a phase.
#ifndef TPURUN_RUNTIME_DEVICE_SPAN_RECORDER_H_
#define TPURUN_RUNTIME_DEVICE_SPAN_RECORDER_H_

#include <cstdint>

#include "runtime/base/ticks.h"
#include "runtime/device/run_profile.h"

namespace tpurun {

// Records the spans of a worker in one phase. The end of a span is the begin of the next, so that
// the clock is read once for each.
class SpanRecorder {
 public:
  SpanRecorder(RunProfile* profile, int worker) : profile_(profile), worker_(worker) {}

  // Of a step that is not recorded, periodic phases are.
  void PhaseBegins(uint64_t number, bool periodic) {
    records_ = profile_->records();
    if (records_ || !periodic) return;
    records_ = true;
    profile_->EndUnrecorded(worker_, number, Ticks());
  }
  // Whether the phase is recorded. If not, a NoRecorder does.
  bool records() const { return records_; }

  void WaitBegins() { waits_ = true; }
  void WaitEnds() {
    if (!waits_) return;
    waits_ = false;
    profile_->EndSpan(worker_, ProfileSpan::Kind::kRendezvous);
  }
  void InstructionEnds(int number, int part, int calls) {
    profile_->EndSpan(worker_, ProfileSpan::Kind::kInstruction, number, part, calls);
  }

 private:
  RunProfile* const profile_;
  const int worker_;
  bool records_ = false;
  bool waits_ = false;
};

// Of a phase that is not recorded.
struct NoRecorder {
  NoRecorder(RunProfile*, int) {}
  static void PhaseBegins(uint64_t, bool) {}
  static constexpr bool records() { return false; }
  static void WaitBegins() {}
  static void WaitEnds() {}
  static void InstructionEnds(int, int, int) {}
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_SPAN_RECORDER_H_
