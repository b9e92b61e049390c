// How the time of a function grows with its input, robustly: processor time of this process, the
// least of several tries, and a bound between near-linear growth, with caches that are outgrown on
// the way, and quadratic growth.
#ifndef TPURUN_TESTS_SCALING_H_
#define TPURUN_TESTS_SCALING_H_

#include <time.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "gtest/gtest.h"

namespace tpurun {

inline double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// run(n) takes about as long for four times the n: 4 times when it is linear, 16 when it is
// quadratic. Tries again where something else disturbed.
inline void ExpectNearLinear(int n, const std::function<void(int)>& run) {
  constexpr int kTries = 5;
  constexpr double kMost = 11;
  double least = std::numeric_limits<double>::max(), least_of_four = least;
  for (int i = 0; i < kTries; ++i) {
    const double start = CpuSeconds();
    run(n);
    const double middle = CpuSeconds();
    run(4 * n);
    least = std::min(least, middle - start);
    least_of_four = std::min(least_of_four, CpuSeconds() - middle);
    if (least_of_four < kMost * least) return;
  }
  ADD_FAILURE() << n << " take " << least << " s, " << 4 * n << " take " << least_of_four
                << " s: more than " << kMost << " times that";
}

}  // namespace tpurun

#endif  // TPURUN_TESTS_SCALING_H_
