#include "data/transforms/mixup.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/base/random.h"

namespace tpurun {
namespace {

// Draws in (0, 1), one after the other, for one element.
class MixupDraws {
 public:
  MixupDraws(uint64_t seed, const RowId& id) : seed_(seed), id_(id) {}

  double Next() {
    const auto lanes =
        PhiloxBlock(seed_, StreamOf("mixup"), id_.epoch, static_cast<uint32_t>(id_.index >> 32),
                    static_cast<uint64_t>(id_.index) << 32 | next_++);
    const uint64_t bits = static_cast<uint64_t>(lanes[0]) << 32 | lanes[1];
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  }

  double NextNormal() {
    const double radius = std::sqrt(-2 * std::log(Next()));
    return radius * std::cos(2 * std::numbers::pi * Next());
  }

 private:
  const uint64_t seed_;
  const RowId id_;
  uint32_t next_ = 0;
};

// The logarithm of a draw from Gamma(alpha, 1): Marsaglia and Tsang, "A simple method for
// generating gamma variables" (2000), for alpha + 1, and its note for alpha < 1:
// Gamma(alpha) = Gamma(alpha + 1) * U^(1/alpha). The draw itself is 0 where alpha is small.
double DrawLogGamma(double alpha, MixupDraws& draws) {
  const double log_power = std::log(draws.Next()) / alpha;
  const double d = alpha + 1 - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draws.NextNormal();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(draws.Next()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return std::log(d * v) + log_power;
    }
  }
}

}  // namespace

float DrawMixupLambda(float alpha, uint64_t seed, const RowId& id) {
  MixupDraws draws(seed, id);
  // X / (X + Y) of two draws from Gamma(alpha, 1).
  const double log_x = DrawLogGamma(alpha, draws);
  const double log_y = DrawLogGamma(alpha, draws);
  const double share = 1 / (1 + std::exp(log_y - log_x));
  return static_cast<float>(std::max(share, 1 - share));
}

void MixRows(float lambda_a, std::span<float> a, float lambda_b, std::span<float> b) {
  float* const __restrict x = a.data();
  float* const __restrict y = b.data();
  for (size_t i = 0; i < a.size(); ++i) {
    const float before = x[i];
    x[i] = lambda_a * before + (1 - lambda_a) * y[i];
    y[i] = lambda_b * y[i] + (1 - lambda_b) * before;
  }
}

}  // namespace tpurun
