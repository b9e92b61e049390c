#include "runtime/estimator/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

namespace tpurun {
namespace {

using testing::Each;
using testing::ElementsAre;

// Probabilities 2/15, 4/15, 1/15, 8/15.
const std::vector<float> kLogits = {0, std::log(2.0f), std::log(0.5f), std::log(4.0f)};

std::vector<int64_t> Draws(const Sampling& sampling, int64_t count,
                           const std::vector<float>& logits = kLogits) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(SampleId(logits, sampling, i).value());
  return ids;
}

// By TensorFlow's Philox4x32-10 and numpy's cumulative sums.
TEST(SampleIdTest, DrawsByTheLogits) {
  EXPECT_THAT(Draws({.seed = 1}, 16), ElementsAre(1, 3, 3, 3, 1, 1, 1, 3, 3, 2, 3, 2, 1, 1, 0, 1));
  EXPECT_THAT(Draws({.seed = 7}, 16), ElementsAre(3, 0, 3, 0, 3, 3, 3, 1, 3, 1, 2, 0, 1, 1, 0, 1));
  EXPECT_THAT(Draws({.seed = 3'000'000'000'000}, 8), ElementsAre(0, 0, 3, 3, 1, 0, 3, 3));
}

TEST(SampleIdTest, TemperatureDividesTheLogits) {
  EXPECT_THAT(Draws({.temperature = 0.5}, 16),
              ElementsAre(1, 3, 3, 3, 3, 2, 1, 3, 3, 3, 3, 3, 3, 3, 0, 1));
  EXPECT_THAT(Draws({.temperature = 0}, 4), ElementsAre(3, 3, 3, 3));
}

TEST(SampleIdTest, TopKIsOfTheLargestAlone) {
  EXPECT_THAT(Draws({.top_k = 2}, 16), ElementsAre(1, 3, 3, 3, 1, 1, 1, 3, 3, 3, 3, 3, 3, 1, 1, 1));
  EXPECT_EQ(Draws({.top_k = 4}, 16), Draws({}, 16));
  EXPECT_EQ(Draws({.top_k = 9}, 16), Draws({}, 16));
  // Of equal ones the first.
  EXPECT_THAT(Draws({.top_k = 1}, 3, {2, 5, 5, 1}), ElementsAre(1, 1, 1));
}

TEST(SampleIdTest, LogitsThatAreNotFinite) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Draws({}, 4, {-kInf, 1, -kInf}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(Draws({}, 4, {5, kInf, 1}), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(SampleId(std::vector<float>{1, std::nanf("")}, {}, 0).status().code(),
            absl::StatusCode::kAborted);
}

struct Reading {
  std::vector<int64_t> last;
  std::vector<bool> again;
};

Reading StepsOf(const ReadingOrder& order, int64_t steps) {
  Reading reading;
  for (int64_t step = 0; step < steps; ++step) {
    reading.last.push_back(order.Last(step));
    reading.again.push_back(order.IsAgain(step));
  }
  return reading;
}

TEST(ReadingOrderTest, AStateOfAnyNumberOfPositionsReadsEachOnce) {
  const Reading reading = StepsOf({.first = 3}, 6);
  EXPECT_THAT(reading.last, ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(reading.again, Each(false));
}

TEST(ReadingOrderTest, AFullStateBeginsAnewWithTheLaterHalf) {
  const Reading reading = StepsOf({.positions = 4}, 12);
  EXPECT_THAT(reading.last, ElementsAre(0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7));
  EXPECT_THAT(reading.again, ElementsAre(false, false, false, false, true, true, false, false, true,
                                         true, false, false));
}

TEST(ReadingOrderTest, OfAnOddNumberTheSmallerHalfIsReadAgain) {
  const Reading reading = StepsOf({.positions = 5}, 15);
  EXPECT_THAT(reading.last, ElementsAre(0, 1, 2, 3, 4, 3, 4, 5, 6, 7, 6, 7, 8, 9, 10));
  EXPECT_THAT(reading.again, ElementsAre(false, false, false, false, false, true, true, false,
                                         false, false, true, true, false, false, false));
}

TEST(ReadingOrderTest, AStateOfOnePositionReadsNothingAgain) {
  const Reading reading = StepsOf({.first = 2, .positions = 1}, 4);
  EXPECT_THAT(reading.last, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(reading.again, Each(false));
}

TEST(ReadingOrderTest, FirstIsWhatNoLaterStepGoesBehind) {
  for (const int64_t positions : {0, 1, 4, 5}) {
    const ReadingOrder order = {.first = 2, .positions = positions};
    for (int64_t step = 0; step < 40; ++step) {
      int64_t first = order.Last(step);
      for (int64_t later = step; later < step + 40; ++later) {
        first = std::min(first, order.Last(later));
      }
      EXPECT_EQ(order.First(step), first) << positions << " positions, step " << step;
    }
  }
}

// `window`: of a feature (window).
std::vector<int32_t> NextWindow(GeneratedWindows& windows, int64_t window = 3) {
  std::vector<int32_t> ids(window, -1);
  std::byte* const buffers[] = {reinterpret_cast<std::byte*>(ids.data())};
  if (windows.Next(buffers).value() == 0) ids.clear();
  return ids;
}

TEST(GeneratedWindowsTest, HoldTheTextUpToEachCharacter) {
  GrowingText text({7, 8});
  GeneratedWindows windows(text, {.name = "text", .shape = Shape{DType::kS32, {3}}}, {});
  EXPECT_THAT(NextWindow(windows), ElementsAre(7, 0, 0));
  EXPECT_THAT(NextWindow(windows), ElementsAre(7, 8, 0));
  std::thread other([&] {
    text.Append(9);
    text.Append(10);
  });
  EXPECT_THAT(NextWindow(windows), ElementsAre(7, 8, 9));
  EXPECT_THAT(NextWindow(windows), ElementsAre(8, 9, 10));
  other.join();
  text.Close();
  EXPECT_THAT(NextWindow(windows), ElementsAre());
}

TEST(GeneratedWindowsTest, OfOneCharacterFollowTheReadingOrder) {
  GrowingText text({7, 8, 9, 10, 11, 12});
  GeneratedWindows windows(text, {.name = "text", .shape = Shape{DType::kS32, {1}}},
                           {.positions = 4});
  for (const int32_t want : {7, 8, 9, 10, 9, 10, 11, 12, 11}) {
    EXPECT_THAT(NextWindow(windows, 1), ElementsAre(want));
  }
}

}  // namespace
}  // namespace tpurun
