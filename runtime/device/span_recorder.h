// SpanRecorder: what a worker tells a RunProfile while it runs a phase.
#ifndef TPURUN_RUNTIME_DEVICE_SPAN_RECORDER_H_
#define TPURUN_RUNTIME_DEVICE_SPAN_RECORDER_H_

#include <cstdint>

#include "runtime/base/ticks.h"
#include "runtime/device/run_profile.h"

namespace tpurun {

// Records the spans of a worker in one phase. The end of a span is the begin of the next, so that
// the clock is read once for each.
template <bool kProfiles>
class SpanRecorder {
 public:
  SpanRecorder(RunProfile*, int) {}
  void PhaseBegins(uint64_t, bool) {}
  void WaitBegins() {}
  void WaitEnds() {}
  void InstructionEnds(int, int, int) {}
};

template <>
class SpanRecorder<true> {
 public:
  SpanRecorder(RunProfile* profile, int worker) : profile_(profile), worker_(worker) {}

  // Of a step that is not recorded, periodic phases are.
  void PhaseBegins(uint64_t number, bool periodic) {
    records_ = profile_->records();
    if (records_ || !periodic) return;
    records_ = true;
    profile_->EndUnrecorded(worker_, number, Ticks());
  }
  void WaitBegins() { waits_ = records_; }
  void WaitEnds() {
    if (!waits_) return;
    waits_ = false;
    profile_->EndSpan(worker_, ProfileSpan::Kind::kRendezvous);
  }
  void InstructionEnds(int number, int part, int calls) {
    if (records_) profile_->EndSpan(worker_, ProfileSpan::Kind::kInstruction, number, part, calls);
  }

 private:
  RunProfile* const profile_;
  const int worker_;
  bool records_ = false;
  bool waits_ = false;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_SPAN_RECORDER_H_
