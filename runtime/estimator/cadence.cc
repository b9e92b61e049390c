#include "runtime/estimator/cadence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"

namespace tpurun {

int64_t LoopLength::Next(int64_t steps_left) {
  if (configured_.steps > 0) return std::min(configured_.steps, steps_left);
  return std::min(estimator_.Next(static_cast<double>(configured_.seconds)), steps_left);
}

void LoopLength::LoopDone(int64_t steps, double seconds) {
  if (configured_.seconds == 0) return;
  VLOG(1) << absl::StrFormat("A loop of %d steps took %.3f s.", steps, seconds);
  estimator_.Update(steps, seconds);
}

std::string LoopLength::ToString() const {
  return configured_.steps > 0 ? absl::StrCat(configured_.steps, " steps")
                               : absl::StrCat("about ", configured_.seconds, " s");
}

SaveCadence::SaveCadence(const proto::RunConfig& config) : periods_(SavePeriodsOf(config)) {}

bool SaveCadence::Due(int64_t step) const {
  if (periods_.steps > 0 && step - saved_step_ >= periods_.steps) return true;
  const std::chrono::duration<double> since = Clock::now() - saved_at_;
  return periods_.seconds > 0 && since.count() >= static_cast<double>(periods_.seconds);
}

void SaveCadence::Saved(int64_t step) {
  saved_step_ = step;
  saved_at_ = Clock::now();
}

}  // namespace tpurun
