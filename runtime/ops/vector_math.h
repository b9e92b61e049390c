// Math functions for loops that the compiler vectorizes. The standard library's functions would be
// one call per element.
#ifndef TPURUN_RUNTIME_OPS_VECTOR_MATH_H_
#define TPURUN_RUNTIME_OPS_VECTOR_MATH_H_

#include <bit>
#include <cstdint>

namespace tpurun {

// Smaller exponents are replaced by this one, the smallest whole x whose e^x is a normal number.
inline constexpr float kLeastExponent = -87.0f;

// e^x for x <= 0, computed as 2^n e^r with n the integer next to x / log(2). The polynomial is that
// of Cephes' expf, within 2 units in the last place. NaN for NaN.
[[gnu::always_inline]] inline float ExpOfNegative(float x) {
  constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float bounded = x < kLeastExponent ? kLeastExponent : x;
  const float shifted = bounded * 1.44269504f + kWhole;
  const float n = shifted - kWhole;
  const float r = bounded - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127u) << 23;
  return p * std::bit_cast<float>(exponent);
}

// The error function, within 6 units in the last place: a rational function of x with the
// coefficients of Eigen (generic_fast_erf_float). NaN for NaN.
[[gnu::always_inline]] inline float ErfOf(float x) {
  constexpr float kBound = 3.832506856900711f;
  const float above = x < -kBound ? -kBound : x;
  const float t = above > kBound ? kBound : above;
  const float t2 = t * t;
  float p = 0.00022905065861350646f;
  p = p * t2 + 0.0034082910107109506f;
  p = p * t2 + 0.050955695062380861f;
  p = p * t2 + 0.18520832239976145f;
  p = p * t2 + 1.128379143519084f;
  float q = -1.1791602954361697e-7f;
  q = q * t2 + 0.000023547966471313185f;
  q = q * t2 + 0.0010179625278914885f;
  q = q * t2 + 0.014070470171167667f;
  q = q * t2 + 0.11098505178285362f;
  q = q * t2 + 0.49746925110067538f;
  q = q * t2 + 1.0f;
  const float y = t * p / q;
  return y < -1.0f ? -1.0f : y > 1.0f ? 1.0f : y;
}

// tanh with an error of at most 2^-23. NaN for NaN.
[[gnu::always_inline]] inline float TanhOf(float x) {
  const float power = ExpOfNegative(x > 0 ? -2 * x : 2 * x);
  const float y = (1.0f - power) / (1.0f + power);
  return x > 0 ? y : -y;
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_VECTOR_MATH_H_
