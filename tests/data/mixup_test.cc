// Draws of mixup against the moments of the beta distribution.
#include "data/transforms/mixup.h"

#include <cmath>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

TEST(MixupTest, TheDrawsAreOfTheBetaDistribution) {
  constexpr int kDraws = 100000;
  for (const float alpha : {0.01F, 0.2F, 1.0F, 4.0F, 100.0F}) {
    // Of x from Beta(a, a): the variance is 1 / (4 (2a + 1)), the fourth central moment
    // 3 / (16 (2a + 1) (2a + 3)). lambda is as far from 1/2 as x is.
    double second = 0, fourth = 0;
    for (int64_t i = 0; i < kDraws; ++i) {
      const float lambda = DrawMixupLambda(alpha, 1, {.epoch = 2, .index = i});
      ASSERT_GE(lambda, 0.5F);
      ASSERT_LE(lambda, 1.0F);
      const double squared = std::pow(lambda - 0.5, 2);
      second += squared / kDraws;
      fourth += squared * squared / kDraws;
    }
    const double a = alpha;
    const double want_second = 1 / (4 * (2 * a + 1));
    const double want_fourth = 3 / (16 * (2 * a + 1) * (2 * a + 3));
    // Five standard deviations of the mean of so many squares.
    const double deviation = std::sqrt((want_fourth - want_second * want_second) / kDraws);
    EXPECT_NEAR(second, want_second, 5 * deviation) << alpha;
    EXPECT_NEAR(fourth, want_fourth, 0.03 * want_fourth) << alpha;
  }
}

TEST(MixupTest, EachElementDrawsItsOwn) {
  const RowId id = {.epoch = 3, .index = 4};
  const float lambda = DrawMixupLambda(0.2F, 1, id);
  EXPECT_EQ(DrawMixupLambda(0.2F, 1, id), lambda);
  EXPECT_NE(DrawMixupLambda(0.2F, 2, id), lambda);
  EXPECT_NE(DrawMixupLambda(0.2F, 1, {.epoch = 4, .index = 4}), lambda);
  EXPECT_NE(DrawMixupLambda(0.2F, 1, {.epoch = 3, .index = 5}), lambda);
  EXPECT_NE(DrawMixupLambda(0.2F, 1, {.epoch = 3, .index = 4 + (int64_t{1} << 32)}), lambda);
}

}  // namespace
}  // namespace tpurun
