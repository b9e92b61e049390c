#include "runtime/estimator/iteration_count_estimator.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "glog/logging.h"

namespace tpurun {
namespace {

// TensorFlow's limits: the standard deviation in seconds below which step times are stable, and the
// distances from the target in percent that count as near, for the last loop and for the mean.
constexpr double kStableStepSeconds = 0.03;
constexpr double kLastPercent = 10, kMeanPercent = 5;
// More steps than any training has, but not enough to overflow.
constexpr double kMostSteps = 1e15;

}  // namespace

bool IsWithinPercent(double actual, double target, double percent) {
  CHECK(actual != 0 && target != 0)
      << "want numbers other than 0, got " << actual << ", " << target;
  return std::abs(target - actual) / target <= percent * 0.01;
}

IterationCountEstimator::IterationCountEstimator(size_t capacity) : capacity_(capacity) {
  CHECK_GT(capacity, 0u);
}

void IterationCountEstimator::Update(int64_t steps, double seconds) {
  if (steps <= 0 || !(seconds > 0)) return;
  if (loops_.size() == capacity_) loops_.pop_front();
  loops_.push_back({.seconds = seconds, .step_seconds = seconds / static_cast<double>(steps)});
  ++samples_;
}

int64_t IterationCountEstimator::Next(double target_seconds) {
  CHECK_GT(target_seconds, 0) << "invalid target_seconds";
  if (loops_.empty()) return 1;
  const double previous = steps_;
  const double projected = target_seconds / mean_step_seconds();
  const double delta = IsNear(target_seconds) ? 0 : projected - steps_;
  steps_ = std::clamp(steps_ + delta, 1.0, kMostSteps);
  const auto next = static_cast<int64_t>(steps_ + 0.5);
  VLOG(1) << absl::StrFormat(
      "Loop of %.3f s wanted: the last took %.3f s, the mean %.3f s; a step %.6f s, mean %.6f s, "
      "standard deviation %.6f s; %.0f steps %+.0f make %d.",
      target_seconds, loops_.back().seconds, mean_seconds(), loops_.back().step_seconds,
      mean_step_seconds(), StdStepSeconds(), previous, delta, next);
  return next;
}

bool IterationCountEstimator::IsNear(double target_seconds) const {
  const bool stable =
      StdStepSeconds() < kStableStepSeconds && samples_ > static_cast<int64_t>(capacity_);
  return stable && (IsWithinPercent(loops_.back().seconds, target_seconds, kLastPercent) ||
                    IsWithinPercent(mean_seconds(), target_seconds, kMeanPercent));
}

double IterationCountEstimator::mean_seconds() const {
  double sum = 0;
  for (const Loop& loop : loops_) sum += loop.seconds;
  return loops_.empty() ? 0 : sum / static_cast<double>(loops_.size());
}

double IterationCountEstimator::mean_step_seconds() const {
  double sum = 0;
  for (const Loop& loop : loops_) sum += loop.step_seconds;
  return loops_.empty() ? 0 : sum / static_cast<double>(loops_.size());
}

double IterationCountEstimator::StdStepSeconds() const {
  const double mean = mean_step_seconds();
  double squares = 0;
  for (const Loop& loop : loops_) {
    squares += (loop.step_seconds - mean) * (loop.step_seconds - mean);
  }
  return loops_.empty() ? 0 : std::sqrt(squares / static_cast<double>(loops_.size()));
}

}  // namespace tpurun
