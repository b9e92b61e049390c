#include "runtime/device/step_sharing.h"

#include <algorithm>

namespace tpurun {

void StepSharing::StageEnds(Clock::time_point now) {
  switch (stage_) {
    case Stage::kRest:
      windows_ = 0;
      fastest_.fill(Clock::duration::max());
      return Begin(Stage::kSkip, kSkipped);
    case Stage::kSkip:
      begin_ = now;
      return Begin(Stage::kWindow, kWindow);
    case Stage::kWindow:
      return WindowEnds(now - begin_);
  }
}

void StepSharing::WindowEnds(Clock::duration window) {
  fastest_[alone_] = std::min(fastest_[alone_], window);
  if (!alone_ && window / kWindow > longest_) return Rest(false);
  if (++windows_ < kWindows) {
    alone_ = !alone_;
    return Begin(Stage::kSkip, kSkipped);
  }
  // Who changes has to gain 3 %.
  const bool other = !chosen_;
  Rest(fastest_[other] < fastest_[chosen_] * 97 / 100 ? other : chosen_);
}

void StepSharing::Rest(bool alone) {
  rest_ = alone == chosen_ ? std::min(2 * rest_, kMostRest) : kLeastRest;
  alone_ = chosen_ = alone;
  Begin(Stage::kRest, rest_);
}

}  // namespace tpurun
