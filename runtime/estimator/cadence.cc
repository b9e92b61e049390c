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

SaveCadence::SaveCadence(const proto::RunConfig& config) {
  const bool by_steps = config.has_save_checkpoints_steps();
  steps_ = by_steps ? config.save_checkpoints_steps() : 0;
  const bool by_seconds = config.has_save_checkpoints_secs() || !by_steps;
  seconds_ = by_seconds ? config.save_checkpoints_secs() : 0;
}

bool SaveCadence::Due(int64_t step) const {
  if (steps_ > 0 && step - saved_step_ >= steps_) return true;
  const std::chrono::duration<double> since = Clock::now() - saved_at_;
  return seconds_ > 0 && since.count() >= static_cast<double>(seconds_);
}

void SaveCadence::Saved(int64_t step) {
  saved_step_ = step;
  saved_at_ = Clock::now();
}

}  // namespace tpurun
