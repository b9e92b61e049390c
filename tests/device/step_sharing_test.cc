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

TEST_F(StepSharingTest, TrialsThatAgreeTakeLittle) {
  Run(1'000'000);
  reads_ = 0;
  const int64_t of_one = Run(1'000'000);
  EXPECT_GT(of_one, 0);
  EXPECT_LT(of_one, 5'000);
  EXPECT_LT(reads_, 1'000);
}

// Workers that wake up take 200 microseconds, which do not count.
TEST_F(StepSharingTest, StepsAfterAChangeDoNotCount) {
  alone_ = microseconds(10);
  while (Run(1), !sharing_.in_trial()) {
  }
  bool was_alone = false;
  for (int i = 0; i < 10'000 && sharing_.in_trial(); ++i) {
    if (was_alone && !sharing_.alone()) now_ += microseconds(150);
    was_alone = sharing_.alone();
    Run(1);
  }
  EXPECT_EQ(Run(1000), 0);
}

TEST_F(StepSharingTest, ATrialEndsWhenOneKindIsMuchSlower) {
  alone_ = microseconds(1000);
  while (Run(1), !sharing_.in_trial()) {
  }
  int64_t slow = 0;
  while (sharing_.in_trial()) slow += Run(1);
  EXPECT_EQ(slow, StepSharing::kSkipped + StepSharing::kWindow);
  EXPECT_EQ(Run(1000), 0);
}

// No gap within a window counts, however short the runs.
TEST_F(StepSharingTest, TheTimeBetweenRunsDoesNotCount) {
  for (const int64_t run : {int64_t{1}, StepSharing::kWindow / 2, int64_t{34}}) {
    sharing_ = StepSharing();
    alone_ = microseconds(7);
    for (int i = 0; i < 1000; ++i) {
      Run(run);
      sharing_.RunEnds(now_);
      now_ += std::chrono::seconds(sharing_.alone() ? 1 : 0);
      sharing_.RunBegins(now_);
    }
    EXPECT_FALSE(sharing_.in_trial()) << run;
    EXPECT_TRUE(sharing_.alone()) << run;
  }
}

}  // namespace
}  // namespace tpurun
