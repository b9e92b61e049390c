#include "runtime/device/step_sharing.h"

#include <chrono>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

using std::chrono::microseconds;

// A device whose clock goes on by the time of a step.
class StepSharingTest : public ::testing::Test {
 protected:
  // Ends `steps` steps, and returns how many of them were of one worker alone.
  int64_t Run(int64_t steps) {
    int64_t of_one = 0;
    for (int64_t i = 0; i < steps; ++i) {
      of_one += sharing_.alone() ? 1 : 0;
      now_ += sharing_.alone() ? alone_ : shared_;
      sharing_.StepEnds([&] {
        ++reads_;
        return now_;
      });
    }
    return of_one;
  }
  // To the rest behind the next trial.
  void RunTrial() {
    while (Run(1), !sharing_.in_trial()) {
    }
    while (Run(1), sharing_.in_trial()) {
    }
  }

  static constexpr int64_t kTrial =
      StepSharing::kWindows * (StepSharing::kWindow + StepSharing::kSkipped);

  microseconds shared_{8}, alone_{12};
  int64_t reads_ = 0;
  StepSharing sharing_;
  StepSharing::Clock::time_point now_;
};

TEST_F(StepSharingTest, TheFasterKindComputesBetweenTrials) {
  RunTrial();
  EXPECT_EQ(Run(1000), 0);
  shared_ = microseconds(13);
  RunTrial();
  EXPECT_EQ(Run(1000), 1000);
  alone_ = microseconds(14);
  RunTrial();
  EXPECT_EQ(Run(1000), 0);
}

TEST_F(StepSharingTest, AGainOfTwoPercentChangesNothing) {
  shared_ = microseconds(100);
  alone_ = microseconds(98);
  RunTrial();
  EXPECT_EQ(Run(1000), 0);
  alone_ = microseconds(90);
  RunTrial();
  EXPECT_EQ(Run(1000), 1000);
  shared_ = microseconds(89);
  RunTrial();
  EXPECT_EQ(Run(1000), 1000);
}

TEST_F(StepSharingTest, TrialsThatAgreeTakeLessThanOnePercent) {
  Run(1'000'000);
  reads_ = 0;
  const int64_t of_one = Run(1'000'000);
  EXPECT_GT(of_one, 0);
  EXPECT_LT(of_one, 5'000);
  EXPECT_LT(reads_, 1'000);
}

TEST_F(StepSharingTest, LongStepsAreNeverOfOneWorker) {
  shared_ = microseconds(150);
  alone_ = microseconds(100);
  EXPECT_EQ(Run(1'000'000), 0);
  sharing_ = StepSharing(microseconds(200));
  RunTrial();
  EXPECT_EQ(Run(1000), 1000);
}

TEST_F(StepSharingTest, TheTimeBetweenRunsDoesNotCount) {
  alone_ = microseconds(7);
  for (int i = 0; i < 20; ++i) {
    Run(kTrial / 7);
    sharing_.RunEnds(now_);
    now_ += std::chrono::seconds(sharing_.alone() ? 1 : 0);
    sharing_.RunBegins(now_);
  }
  EXPECT_FALSE(sharing_.in_trial());
  EXPECT_TRUE(sharing_.alone());
}

}  // namespace
}  // namespace tpurun
