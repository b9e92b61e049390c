// IterationCountEstimator: how many steps make a loop of a wanted time, from the loops before it.
// After tensorflow_estimator's iteration_count_estimator.py.
#ifndef TPURUN_RUNTIME_ESTIMATOR_ITERATION_COUNT_ESTIMATOR_H_
#define TPURUN_RUNTIME_ESTIMATOR_ITERATION_COUNT_ESTIMATOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>

namespace tpurun {

// Whether `actual` is no further than `percent` per cent of `target` from it. Neither is 0.
bool IsWithinPercent(double actual, double target, double percent);

class IterationCountEstimator {
 public:
  // Remembers the last `capacity` loops, > 0.
  explicit IterationCountEstimator(size_t capacity = 20);

  // A loop of `steps` took that long. One without steps or without time is ignored.
  void Update(int64_t steps, double seconds);
  // Steps of the next loop, >= 1: 1 before any loop. The estimate stays where it is once loops come
  // near the target, > 0, in steps that all take the same time.
  int64_t Next(double target_seconds);

  // Means over the remembered loops; 0 without any.
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
  std::deque<Loop> loops_;  // the newest last
  int64_t samples_ = 0;     // ever
  double steps_ = 1;        // the last estimate
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_ITERATION_COUNT_ESTIMATOR_H_
