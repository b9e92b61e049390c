#include "runtime/estimator/iteration_count_estimator.h"

#include <cmath>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

constexpr int64_t kHour = 3600;

TEST(IterationCountEstimatorTest, WithoutLoopsIsOneWhateverTheTarget) {
  for (const double target : {1e-3, 1.0, 10.0 * kHour}) {
    IterationCountEstimator estimator;
    EXPECT_EQ(estimator.Next(target), 1);
    EXPECT_EQ(estimator.Next(target), 1);
  }
}

TEST(IterationCountEstimatorTest, ATargetMustBePositive) {
  IterationCountEstimator estimator;
  EXPECT_DEATH(estimator.Next(0), "invalid target_seconds");
  EXPECT_DEATH(estimator.Next(-1), "invalid target_seconds");
}

TEST(IterationCountEstimatorTest, LoopsWithoutTimeOrStepsAreIgnored) {
  IterationCountEstimator estimator;
  estimator.Update(4, 0);
  estimator.Update(4, -1);
  estimator.Update(4, std::nan(""));
  estimator.Update(0, 5);
  EXPECT_EQ(estimator.mean_seconds(), 0);
  EXPECT_EQ(estimator.Next(10), 1);
}

TEST(IterationCountEstimatorTest, PercentIsOfTheTargetAndItsEndsCount) {
  EXPECT_TRUE(IsWithinPercent(9.5, 10, 5));
  EXPECT_TRUE(IsWithinPercent(10.5, 10, 5));
  EXPECT_FALSE(IsWithinPercent(9, 10, 5));
  EXPECT_FALSE(IsWithinPercent(11, 10, 5));
  EXPECT_DEATH(IsWithinPercent(0, 10, 5), "other than 0");
  EXPECT_DEATH(IsWithinPercent(10, 0, 5), "other than 0");
}

TEST(IterationCountEstimatorTest, MeansAreOverLoopsNotOverSteps) {
  IterationCountEstimator estimator;
  estimator.Update(2, 4);
  EXPECT_EQ(estimator.mean_seconds(), 4);
  EXPECT_EQ(estimator.mean_step_seconds(), 2);
  estimator.Update(2, 8);
  EXPECT_EQ(estimator.mean_seconds(), 6);
  EXPECT_EQ(estimator.mean_step_seconds(), 3);
  estimator.Update(1, 9);
  EXPECT_EQ(estimator.mean_seconds(), 7);
  EXPECT_EQ(estimator.mean_step_seconds(), 5);
}

TEST(IterationCountEstimatorTest, TheOldestLoopIsForgotten) {
  IterationCountEstimator estimator(3);
  for (const double seconds : {100.0, 2.0, 4.0, 6.0}) estimator.Update(2, seconds);
  EXPECT_EQ(estimator.mean_seconds(), 4);
  EXPECT_EQ(estimator.mean_step_seconds(), 2);
}

TEST(IterationCountEstimatorTest, FollowsItsTarget) {
  IterationCountEstimator estimator;
  estimator.Update(1, 5);
  EXPECT_EQ(estimator.Next(10), 2);
  EXPECT_EQ(estimator.Next(15), 3);
  EXPECT_EQ(estimator.Next(10), 2);
}

TEST(IterationCountEstimatorTest, RoundsHalfUpAndNeverBelowOne) {
  IterationCountEstimator estimator;
  estimator.Update(1, 4);
  EXPECT_EQ(estimator.Next(10), 3);  // 2.5
  EXPECT_EQ(estimator.Next(9.9), 2);
  EXPECT_EQ(estimator.Next(0.1), 1);
}

TEST(IterationCountEstimatorTest, LoopsComeToTheTarget) {
  constexpr double kStepSeconds = 0.05, kTarget = 10;
  IterationCountEstimator estimator;
  int64_t steps = estimator.Next(kTarget);
  estimator.Update(steps, 4 + kStepSeconds);  // what a first loop has to make
  for (int loop = 0; loop < 30; ++loop) {
    steps = estimator.Next(kTarget);
    estimator.Update(steps, static_cast<double>(steps) * kStepSeconds);
  }
  EXPECT_NEAR(static_cast<double>(steps) * kStepSeconds, kTarget, 1);
}

// `loops` loops that are as wanted, then one of the same steps that takes `last` seconds.
int64_t NextAfter(int loops, int64_t steps, double target, double last) {
  IterationCountEstimator estimator;
  for (int loop = 0; loop < loops; ++loop) {
    estimator.Update(steps, target);
    EXPECT_EQ(estimator.Next(target), steps);
  }
  estimator.Update(steps, last);
  return estimator.Next(target);
}

TEST(IterationCountEstimatorTest, StaysWhereItIsOnceLoopsAreNearTheTarget) {
  // The mean step of the last 20 loops is 0.010045 s, which asks for 996 steps.
  EXPECT_EQ(NextAfter(20, 1000, 10, 10.9), 1000);  // within 10 % of the target
  EXPECT_EQ(NextAfter(19, 1000, 10, 10.9), 996);   // 20 loops are too few
  // 14 s is not, but the mean of 10.2 s is within 5 %.
  EXPECT_EQ(NextAfter(20, 1000, 10, 14), 1000);
  // Neither is: 10 s / 0.0115 s.
  EXPECT_EQ(NextAfter(20, 1000, 10, 40), 870);
  // The mean is near, but the steps' standard deviation is 0.044 s: 100 s / 1.01 s.
  EXPECT_EQ(NextAfter(20, 100, 100, 120), 99);
}

TEST(IterationCountEstimatorTest, TheLongestTimeDoesNotOverflow) {
  IterationCountEstimator estimator;
  estimator.Update(1000000, 1e-9);
  EXPECT_EQ(estimator.Next(9e18), 1000000000000000);
}

}  // namespace
}  // namespace tpurun
