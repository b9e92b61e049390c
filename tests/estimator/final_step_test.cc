#include "runtime/estimator/final_step.h"

#include "gtest/gtest.h"

namespace tpurun {
namespace {

int64_t StepsOf(double epochs, int64_t examples, int64_t batch) {
  proto::RunConfig config;
  config.mutable_train()->set_epochs(epochs);
  config.set_train_batch_size(batch);
  return FinalStep(config, /*start_step=*/0, examples).value_or(-1);
}

// The products of doubles are below the whole numbers: 2.3 * 100 is 229.99999999999997.
TEST(FinalStepTest, EpochsAreDecimalNumbers) {
  for (int hundredths = 1; hundredths <= 2000; ++hundredths)
    EXPECT_EQ(StepsOf(hundredths / 100.0, 100, 1), hundredths) << hundredths;
  EXPECT_EQ(StepsOf(2.3, 50000, 100), 1150);
  EXPECT_EQ(StepsOf(4.1, 50000, 100), 2050);
  EXPECT_EQ(StepsOf(0.29, 100, 1), 29);
}

TEST(FinalStepTest, APartOfAStepIsNone) {
  EXPECT_EQ(StepsOf(1, 120, 50), 2);
  EXPECT_EQ(StepsOf(2.2999999, 100, 1), 229);
  EXPECT_EQ(StepsOf(2.3, 99, 1), 227);
  EXPECT_EQ(StepsOf(0.5, 1, 1), -1);
}

}  // namespace
}  // namespace tpurun
