#include "runtime/report/sample.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// A wave with one value far above the others and one far below.
std::vector<ScalarPoint> Wave(int64_t size, int64_t peak, int64_t hole) {
  std::vector<ScalarPoint> points;
  for (int64_t i = 0; i < size; ++i) {
    points.push_back({.step = i, .value = std::sin(static_cast<double>(i) / 7)});
  }
  points[peak].value = 50;
  points[hole].value = -50;
  return points;
}

TEST(Sample, FewPointsStayAsTheyAre) {
  const std::vector<ScalarPoint> points = Wave(5, 1, 2);
  EXPECT_THAT(SamplePoints(points, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(SamplePoints({}, 4).empty());
}

TEST(Sample, EndsAndExtremesAreKept) {
  for (const size_t limit : {4, 5, 10, 101, 999}) {
    for (const int64_t peak : {1, 2, 500, 998}) {
      const std::vector<ScalarPoint> points = Wave(1000, peak, 700);
      const std::vector<size_t> kept = SamplePoints(points, limit);
      EXPECT_LE(kept.size(), limit);
      EXPECT_GE(kept.size(), limit / 2);
      EXPECT_EQ(kept.front(), 0u);
      EXPECT_EQ(kept.back(), 999u);
      EXPECT_THAT(kept, Contains(peak)) << limit;
      EXPECT_THAT(kept, Contains(700)) << limit;
      for (size_t i = 1; i < kept.size(); ++i) ASSERT_LT(kept[i - 1], kept[i]);
    }
  }
}

TEST(Sample, ValuesThatAreNotFiniteAreKept) {
  std::vector<ScalarPoint> points = Wave(1000, 300, 700);
  points[400].value = std::numeric_limits<double>::quiet_NaN();
  points[900].value = std::numeric_limits<double>::infinity();
  const std::vector<size_t> kept = SamplePoints(points, 100);
  EXPECT_LE(kept.size(), 100u);
  for (const size_t wanted : {0, 300, 400, 700, 900, 999}) EXPECT_THAT(kept, Contains(wanted));
}

TEST(Sample, AllOfOneValueIsTwoPointsAPieceAtMost) {
  const std::vector<ScalarPoint> points(1000);
  EXPECT_LE(SamplePoints(points, 10).size(), 10u);
}

TEST(Sample, ShortCurvesLeaveTheirShareToLongOnes) {
  EXPECT_EQ(PointsPerCurve({10, 10, 10}, 30), 10u);
  EXPECT_EQ(PointsPerCurve({10, 100, 100}, 110), 50u);
  EXPECT_EQ(PointsPerCurve({1000, 5, 5, 1000}, 1010), 500u);
  EXPECT_EQ(PointsPerCurve({100, 100, 100}, 3), 4u);
  EXPECT_EQ(PointsPerCurve({}, 3), 4u);
}

}  // namespace
}  // namespace tpurun
