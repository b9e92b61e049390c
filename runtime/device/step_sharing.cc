#include "runtime/device/step_sharing.h"

#include <algorithm>

namespace tpurun {

void StepSharing::StageEnds(Clock::time_point now) {
  switch (stage_) {
    case Stage::kRest:
      windows_ = 0;
      fastest_.fill(Clock::duration::max());
      begin_ = now;
      return Begin(Stage::kSkip, kSkipped);
    case Stage::kSkip:
      if (now - begin_ < kWakingUp) return Begin(Stage::kSkip, kSkipped);
      begin_ = now;
      return Begin(Stage::kWindow, kWindow);
    case Stage::kWindow:
      return WindowEnds(now);
  }
}

void StepSharing::WindowEnds(Clock::time_point now) {
  const Clock::duration window = now - begin_;
  fastest_[alone_] = std::min(fastest_[alone_], window);
  if (window / kMuchSlower > fastest_[!alone_]) return Rest(!alone_);
  if (++windows_ < kWindows) {
    alone_ = !alone_;
    begin_ = now;
    return Begin(Stage::kSkip, kSkipped);
  }
  // The other kind has to gain 3 %.
  Rest(fastest_[!chosen_] < fastest_[chosen_] * 97 / 100 ? !chosen_ : chosen_);
}

void StepSharing::Rest(bool alone) {
  rest_ = alone == chosen_ ? std::min(2 * rest_, kMostRest) : kLeastRest;
  alone_ = chosen_ = alone;
  Begin(Stage::kRest, rest_);
}

}  // namespace tpurun
