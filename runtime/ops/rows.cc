#include "runtime/ops/rows.h"

#include <cstring>

#include "runtime/base/clones.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

constexpr int64_t kLanes = 16;  // independent maxima: a vector register

// A vector type, because GCC 12 does not vectorize a loop over kLanes maxima.
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

// e^x for x <= 0; 0 below -87.
[[gnu::always_inline]] inline float ExpOrZero(float x) {
  const float value = ExpOfNegative(x);
  return x < kLeastExponent ? 0.0f : value;
}

}  // namespace

TPURUN_CLONES float RowMax(const float* x, int64_t n) {
  float max = x[0];
  int64_t c = 0;
  if (n >= kLanes) {
    Lanes most = max - Lanes{};
    for (; c + kLanes <= n; c += kLanes) {
      Lanes next;
      std::memcpy(&next, x + c, sizeof(next));
      most = next > most ? next : most;
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) max = most[lane] > max ? most[lane] : max;
  }
  for (; c < n; ++c) max = x[c] > max ? x[c] : max;
  return max;
}

TPURUN_CLONES void ExpBelow(const float* x, float max, int64_t n, float* e) {
#pragma GCC ivdep
  for (int64_t c = 0; c < n; ++c) e[c] = ExpOrZero(x[c] - max);
}

TPURUN_CLONES float SumOfExpBelow(const float* x, float max, int64_t n) {
  float sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += ExpOrZero(x[c] - max);
  return sum;
}

}  // namespace tpurun
