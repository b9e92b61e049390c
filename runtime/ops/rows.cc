#include "runtime/ops/rows.h"

#include <algorithm>

#include "runtime/base/clones.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

// Independent maxima. GCC 12 makes vectors of a loop over them, of each processor's length; not if
// they are 16 or fewer, as it unrolls that loop, and not of a vector type that is longer than a
// processor's (maximum of 128 numbers with AVX2: 290 ns, now 22).
constexpr int64_t kMaxima = 32;

[[gnu::always_inline]] inline float Larger(float x, float y) { return y > x ? y : x; }

// e^x for x <= 0; 0 below -87.
[[gnu::always_inline]] inline float ExpOrZero(float x) {
  const float value = ExpOfNegative(x);
  return x < kLeastExponent ? 0.0f : value;
}

}  // namespace

TPURUN_CLONES float RowMax(const float* x, int64_t n) {
  float max = x[0];
  int64_t c = 0;
  if (n >= kMaxima) {
    float most[kMaxima];
    std::fill_n(most, kMaxima, max);
    for (; c + kMaxima <= n; c += kMaxima) {
#pragma GCC ivdep
      for (int64_t i = 0; i < kMaxima; ++i) most[i] = Larger(most[i], x[c + i]);
    }
    for (int64_t half = kMaxima / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) most[i] = Larger(most[i], most[half + i]);
    }
    max = most[0];
  }
  for (; c < n; ++c) max = Larger(max, x[c]);
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
