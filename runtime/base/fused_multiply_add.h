// x y + z in f32, rounded once.
#ifndef TPURUN_RUNTIME_BASE_FUSED_MULTIPLY_ADD_H_
#define TPURUN_RUNTIME_BASE_FUSED_MULTIPLY_ADD_H_

#include <bit>
#include <cstdint>

namespace tpurun {

// The bits of std::fma(x, y, z), without its call: Debian's libm has no quick one for processors
// without FMA, and no compiler makes a vector loop of its calls. The product is exact in f64. The
// sum is rounded to odd in f64, whose 29 more bits make the second rounding that of the exact sum
// (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
// rounding to odd", IEEE Transactions on Computers 57(4), 2008).
[[gnu::always_inline]] inline float FusedMultiplyAdd(float x, float y, float z) {
  const double product = static_cast<double>(x) * y;
  const double sum = product + z;
  // The rounding error of the sum (Knuth's two-sum); NaN if the sum is not finite.
  const double rest = sum - product;
  const double error = (product - (sum - rest)) + (z - rest);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  const bool is_even = (bits & 1) == 0;
  const bool is_inexact = error < 0 || error > 0;
  const bool is_larger = (error > 0) == (sum > 0);
  bits += is_even && is_inexact ? (is_larger ? 1 : -1) : 0;
  return static_cast<float>(std::bit_cast<double>(bits));
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_FUSED_MULTIPLY_ADD_H_
