// Math functions for loops that the compiler vectorizes. The standard library's functions would be
// one call per element. Every instruction set gives the same bits: each step is one operation, and
// a fused multiply-add is one where the processor has it and a call of fmaf elsewhere.
#ifndef TPURUN_RUNTIME_OPS_VECTOR_MATH_H_
#define TPURUN_RUNTIME_OPS_VECTOR_MATH_H_

#include <bit>
#include <cstdint>

namespace tpurun {

// x y + z, rounded once.
[[gnu::always_inline]] inline float MultiplyAdd(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}

// c0 x^n + c1 x^(n-1) + ..., by Horner's rule.
template <typename... Floats>
[[gnu::always_inline]] inline float Polynomial(float x, float first, Floats... coefficients) {
  float sum = first;
  ((sum = MultiplyAdd(sum, x, coefficients)), ...);
  return sum;
}

// Smaller exponents are replaced by this one, the smallest whole x whose e^x is a normal number.
inline constexpr float kLeastExponent = -87.0f;

// x = n log(2) + r with n the integer next to x / log(2), for |x| <= 89. The polynomial is that of
// Cephes' expf.
struct ReducedExponent {
  float shifted;       // its lowest bits are n
  float power_less_1;  // e^r - 1
};

[[gnu::always_inline]] inline ReducedExponent Reduced(float x) {
  constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = MultiplyAdd(x, 1.44269504f, kWhole);
  const float n = shifted - kWhole;
  const float r = MultiplyAdd(n, 2.12194440e-4f, MultiplyAdd(n, -0.693359375f, x));
  const float p = Polynomial(r, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                             4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f);
  return {shifted, MultiplyAdd(p, r * r, r)};
}

// 2^(n + plus), a normal number.
[[gnu::always_inline]] inline float PowerOfTwo(float shifted, uint32_t plus = 0) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) + 127u + plus) << 23);
}

// e^x for x <= 0, within 1.1 units in the last place. NaN for NaN.
[[gnu::always_inline]] inline float ExpOfNegative(float x) {
  const ReducedExponent e = Reduced(x < kLeastExponent ? kLeastExponent : x);
  return (e.power_less_1 + 1.0f) * PowerOfTwo(e.shifted);
}

// e^x, within 1.1 units in the last place; 0 where it is no normal number, infinity where it is
// above the largest. NaN for NaN.
[[gnu::always_inline]] inline float ExpOf(float x) {
  constexpr float kLeast = -87.3365402f, kMost = 89.0f;
  const float above = x < kLeast ? kLeast : x;
  const ReducedExponent e = Reduced(above > kMost ? kMost : above);
  // 2^128 is no float: half of it, then doubled.
  const bool halves = x > 0;
  const float half = (e.power_less_1 + 1.0f) * PowerOfTwo(e.shifted, halves ? -1u : 0u);
  return x < kLeast ? 0.0f : half * (halves ? 2.0f : 1.0f);
}

// e^x - 1 for x <= 0, within 1.5 units in the last place. NaN for NaN; 0 for -0.
[[gnu::always_inline]] inline float Expm1OfNegative(float x) {
  const ReducedExponent e = Reduced(x < kLeastExponent ? kLeastExponent : x);
  const float scale = PowerOfTwo(e.shifted);
  return MultiplyAdd(scale, e.power_less_1, scale - 1.0f);
}

// log(m) + plus log(2) of m in [sqrt(1/2), sqrt(2)]. The polynomial is that of Cephes' logf.
[[gnu::always_inline]] inline float LogOfReduced(float m, float plus) {
  const float f = m - 1.0f, square = f * f;
  const float p = Polynomial(f, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
                             -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                             2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
  const float low = MultiplyAdd(plus, -2.12194440e-4f, p * f * square);
  return MultiplyAdd(plus, 0.693359375f, f + MultiplyAdd(-0.5f, square, low));
}

// The natural logarithm, within 1.1 units in the last place: of x = 2^e m. -infinity for 0, NaN for
// less and for NaN. Subnormal numbers are numbers like others, also where arithmetic takes them
// for 0.
[[gnu::always_inline]] inline float LogOf(float x) {
  constexpr uint32_t kRootOfHalf = 0x3f3504f3u, kInfinity = 0x7f800000u, kLeastNormal = 0x00800000u;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const bool subnormal = bits < kLeastNormal;
  const float normal = subnormal ? static_cast<float>(static_cast<int32_t>(bits)) : x;
  const uint32_t above = std::bit_cast<uint32_t>(normal) - kRootOfHalf;
  const float e = static_cast<float>(static_cast<int32_t>(above) >> 23);
  const float m = std::bit_cast<float>((above & 0x007fffffu) + kRootOfHalf);
  const float y = LogOfReduced(m, subnormal ? e - 149.0f : e);
  const float negative = (bits << 1) == 0 ? -__builtin_inff() : __builtin_nanf("");
  const float special = bits == kInfinity ? x : negative;
  // The positive finite numbers are those whose bits less 1 are below infinity's less 1.
  return bits - 1u < kInfinity - 1u ? y : special;
}

// log(1 + e^x), within 2 units in the last place; x above 87, 0 below -87. NaN for NaN.
[[gnu::always_inline]] inline float SoftplusOf(float x) {
  const float size = __builtin_fabsf(x), power = ExpOfNegative(-size);
  const float e = size > -kLeastExponent ? 0.0f : power;
  // log(u) of u = 1 + e rounded, and what rounding took.
  const float u = 1.0f + e;
  const bool halves = u > 1.41421356f;
  const float log = LogOfReduced(halves ? 0.5f * u : u, halves ? 1.0f : 0.0f);
  return (x > 0 ? x : 0.0f) + (log + (e - (u - 1.0f)) / u);
}

// x where x >= 0, else e^x - 1, within 1.5 units in the last place. -0 for -0, NaN for NaN.
[[gnu::always_inline]] inline float EluOf(float x) { return x < 0 ? Expm1OfNegative(x) : x; }

// The error function, within 7 units in the last place: a rational function of x with the
// coefficients of Eigen (generic_fast_erf_float). -0 for -0, NaN for NaN. Bounds are those of bits,
// which rise with the size of a number: GCC 12 uses the instructions for the least of two integers,
// and makes up to 5 comparisons and blends of bounds of numbers that may be NaN (gelu_grad with
// AVX2: 13.5, now 8.6 ns for 8 numbers).
[[gnu::always_inline]] inline float ErfOf(float x) {
  constexpr uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u, kQuiet = 0x00400000u;
  constexpr float kBound = 3.832506856900711f;
  const auto least = [](uint32_t bits, float bound) {
    const uint32_t most = std::bit_cast<uint32_t>(bound);
    return bits < most ? bits : most;
  };
  const uint32_t bits = std::bit_cast<uint32_t>(x), size = bits & ~kSign;
  const float t = std::bit_cast<float>(least(size, kBound));
  const float t2 = t * t;
  const float p = Polynomial(t2, 0.00022905065861350646f, 0.0034082910107109506f,
                             0.050955695062380861f, 0.18520832239976145f, 1.128379143519084f);
  const float q =
      Polynomial(t2, -1.1791602954361697e-7f, 0.000023547966471313185f, 0.0010179625278914885f,
                 0.014070470171167667f, 0.11098505178285362f, 0.49746925110067538f, 1.0f);
  const uint32_t y = least(std::bit_cast<uint32_t>(t * p / q), 1.0f);
  const uint32_t nan = size > kInfinity ? bits | kQuiet : 0u;
  return std::bit_cast<float>(y | (bits & kSign) | nan);
}

// 1 / (1 + e^-x), within 3 units in the last place; 0 below -87. NaN for NaN.
[[gnu::always_inline]] inline float SigmoidOf(float x) {
  const float size = __builtin_fabsf(x), power = ExpOfNegative(-size);
  const float e = size > -kLeastExponent ? 0.0f : power;
  return (x >= 0 ? 1.0f : e) / (1.0f + e);
}

// tanh. The polynomial near 0 is the one of Cephes' tanhf, within 2 units in the last place. -0 for
// -0, NaN for NaN.
[[gnu::always_inline]] inline float TanhOf(float x) {
  const float size = __builtin_fabsf(x), square = x * x;
  const float e = ExpOfNegative(-2.0f * size);
  const float far = (1.0f - e) / (1.0f + e);
  const float p = Polynomial(square, -5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                             1.33314422036e-1f, -3.33332819422e-1f);
  const float near = MultiplyAdd(p * square, size, size);
  return __builtin_copysignf(size < 0.625f ? near : far, x);
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_VECTOR_MATH_H_
