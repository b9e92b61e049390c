#include "runtime/estimator/cadence.h"

#include <vector>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

// The lengths of loops until no step is left, each taking `step_seconds` a step.
std::vector<int64_t> Loops(const IterationsPerLoop& configured, int64_t steps,
                           double step_seconds) {
  LoopLength length(configured);
  std::vector<int64_t> loops;
  while (steps > 0) {
    loops.push_back(length.Next(steps));
    steps -= loops.back();
    length.LoopDone(loops.back(), static_cast<double>(loops.back()) * step_seconds);
  }
  return loops;
}

TEST(LoopLengthTest, OfStepsOnlyTheLastIsShortened) {
  EXPECT_EQ(Loops({.steps = 4}, 10, 1), (std::vector<int64_t>{4, 4, 2}));
  EXPECT_EQ(Loops({.steps = 40}, 12, 1), (std::vector<int64_t>{12}));
  LoopLength length({.steps = 3});
  for (const auto& [left, next] : {std::pair(5, 3), {3, 3}, {1, 1}, {0, 0}}) {
    EXPECT_EQ(length.Next(left), next);
  }
}

TEST(LoopLengthTest, OfATimeTheFirstIsOneStepAndTheLastIsShortened) {
  EXPECT_EQ(Loops({.seconds = 10}, 50, 0.5), (std::vector<int64_t>{1, 20, 20, 9}));
  EXPECT_EQ(Loops({.seconds = 10}, 3, 60), (std::vector<int64_t>{1, 1, 1}));
}

TEST(LoopLengthTest, ALoopThatDidNothingIsNoMeasure) {
  LoopLength length({.seconds = 10});
  length.LoopDone(0, 7);
  EXPECT_EQ(length.Next(100), 1);
}

TEST(LoopLengthTest, SaysWhatWasAskedFor) {
  EXPECT_EQ(LoopLength({.steps = 500}).ToString(), "500 steps");
  EXPECT_EQ(LoopLength({.seconds = 300}).ToString(), "about 300 s");
}

}  // namespace
}  // namespace tpurun
