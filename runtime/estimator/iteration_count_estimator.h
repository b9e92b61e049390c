// IterationCountEstimator: estimates from the previous loops the number of steps of a loop that
// takes a given time. After tensorflow_estimator's iteration_count_estimator.py.
#ifndef TPURUN_RUNTIME_ESTIMATOR_ITERATION_COUNT_ESTIMATOR_H_
#define TPURUN_RUNTIME_ESTIMATOR_ITERATION_COUNT_ESTIMATOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>

namespace tpurun {

// True if `actual` differs from `target` by at most `percent` per cent of `target`. Neither may be
// 0.
bool IsWithinPercent(double actual, double target, double percent);

class IterationCountEstimator {
 public:
  // Remembers the last `capacity` loops (> 0).
  explicit IterationCountEstimator(size_t capacity = 20);

  // Adds a loop of `steps` steps that took `seconds` seconds. A loop without steps or without time
  // is ignored.
  void Update(int64_t steps, double seconds);
  // Steps of the next loop (>= 1); 1 before any loop. The estimate no longer changes once the steps
  // all take the same time and the loops come near `target_seconds` (> 0).
  int64_t Next(double target_seconds);

  // Means over the remembered loops. 0 if there are none.
  double mean_seconds() const;
  double mean_step_seconds() const;

 private:
  struct Loop {
    double seconds;
    double step_seconds;
  };

  double StdStepSeconds() const;
  bool IsNear(double target_seconds) const;

  const size_t capacity_;
  std::deque<Loop> loops_;  // the newest loop is last
  int64_t samples_ = 0;     // number of all loops so far
  double steps_ = 1;        // the last estimate
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_ITERATION_COUNT_ESTIMATOR_H_
