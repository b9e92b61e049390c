// Decides the length of each training loop, and when a checkpoint is due.
#ifndef TPURUN_RUNTIME_ESTIMATOR_CADENCE_H_
#define TPURUN_RUNTIME_ESTIMATOR_CADENCE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "proto/iterations_per_loop.h"
#include "proto/run_config.pb.h"
#include "runtime/estimator/iteration_count_estimator.h"
#include "runtime/spec/save_periods.h"

namespace tpurun {

// The number of steps of each loop: fixed, or estimated for a given time from the previous loops.
class LoopLength {
 public:
  explicit LoopLength(const IterationsPerLoop& configured) : configured_(configured) {}

  // The steps of the next loop, at most `steps_left`. 0 if `steps_left` is 0.
  int64_t Next(int64_t steps_left);
  void LoopDone(int64_t steps, double seconds);
  // "500 steps" or "about 30 s", for the log.
  std::string ToString() const;

 private:
  const IterationsPerLoop configured_;
  IterationCountEstimator estimator_;
};

// When a checkpoint is due. If both periods are 0, never.
class SaveCadence {
 public:
  explicit SaveCadence(const proto::RunConfig& config);

  bool enabled() const { return periods_.any(); }
  bool Due(int64_t step) const;
  bool IsSaved(int64_t step) const { return saved_step_ == step; }
  void Saved(int64_t step);

 private:
  using Clock = std::chrono::steady_clock;

  const SavePeriods periods_;
  int64_t saved_step_ = -1;
  Clock::time_point saved_at_ = Clock::now();
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_CADENCE_H_
