#include "runtime/estimator/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

namespace tpurun {
namespace {

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

std::vector<int32_t> NextWindow(GeneratedWindows& windows) {
  std::vector<int32_t> ids(3, -1);
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

}  // namespace
}  // namespace tpurun
