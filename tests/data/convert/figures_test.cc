// Figures and the pixels that they cover, against geometry and against counted points.
#include "data/convert/figures.h"

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

double Sum(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// On paper, of radius 1.
const std::map<std::string, double>& Areas() {
  static const auto* const kAreas = new std::map<std::string, double>{
      {"disc", M_PI},
      {"ring", M_PI * (1 - 0.55 * 0.55)},
      {"square", 1.4 * 1.4},
      {"frame", 1.4 * 1.4 - 0.84 * 0.84},
      {"triangle", 3 * std::sqrt(3) / 4},
      {"cross", 2 * 1.94 * 0.48 - 0.48 * 0.48},
      {"bar", 1.94 * 0.48},
      {"half-disc", M_PI * 0.9 * 0.9 / 2},
      // Ten triangles between a point, a corner between two points and the middle.
      {"star", 10 * 0.45 * std::sin(M_PI / 5) / 2},
      {"two dots", 2 * M_PI * 0.36 * 0.36},
  };
  return *kAreas;
}

TEST(FiguresTest, TheCoverageAddsUpToTheArea) {
  ASSERT_EQ(Figures().size(), 10);
  for (const Figure& figure : Figures()) {
    for (const float radius : {20.0f, 40.0f}) {
      for (const float angle : {0.0f, 0.7f}) {
        const Pose pose = {.centre = {49.3f, 51.8f}, .radius = radius, .angle = angle};
        const double want = Areas().at(figure.name) * radius * radius;
        // An edge's step is smooth, the area of a pixel beside a straight one is not.
        EXPECT_NEAR(Sum(Coverage(figure.distance, pose, 100)), want, 0.01 * want)
            << figure.name << " of radius " << radius;
      }
    }
  }
}

// A pixel all of whose points are inside is covered for more than the half, one that has none for
// less; in between a straight edge's step is nearly the area.
void ExpectCounted(const SignedDistance& distance, const Pose& pose, const std::string& name) {
  constexpr int kSize = 40;
  constexpr int kPoints = 8;  // of a pixel's side
  const std::vector<float> coverage = Coverage(distance, pose, kSize);
  ASSERT_EQ(coverage.size(), kSize * kSize);
  double total = 0;
  for (int pixel = 0; pixel < kSize * kSize; ++pixel) {
    int inside = 0;
    for (int point = 0; point < kPoints * kPoints; ++point) {
      const double x = pixel % kSize + (point % kPoints + 0.5) / kPoints - pose.centre.x;
      const double y = pixel / kSize + (point / kPoints + 0.5) / kPoints - pose.centre.y;
      const double along = (x * std::cos(pose.angle) + y * std::sin(pose.angle)) / pose.radius;
      const double down = (y * std::cos(pose.angle) - x * std::sin(pose.angle)) / pose.radius;
      const Point p = {static_cast<float>((along - pose.slant * down) / pose.aspect),
                       static_cast<float>(down)};
      inside += distance(p) < 0;
    }
    const double part = static_cast<double>(inside) / (kPoints * kPoints);
    total += part;
    EXPECT_NEAR(coverage[pixel], part, 0.45) << name << " at pixel " << pixel;
  }
  EXPECT_NEAR(Sum(coverage), total, 0.05 * total) << name;
}

TEST(FiguresTest, PixelsAreCoveredWhereTheirPointsAreInside) {
  const Pose upright = {.centre = {18.2f, 21.6f}, .radius = 15};
  const Pose turned = {
      .centre = {20, 20}, .radius = 14, .angle = 0.4f, .slant = 0.3f, .aspect = 0.8f};
  const Pose outside = {.centre = {-3, 37}, .radius = 17, .angle = 2};
  for (const Figure& figure : Figures()) {
    for (const Pose& pose : {upright, turned, outside}) {
      ExpectCounted(figure.distance, pose, figure.name);
    }
  }
  for (int digit = 0; digit < 10; ++digit) {
    std::vector<LineSegment> segments;
    for (const Stroke& stroke : DigitStrokes(digit)) AddCurve(stroke, segments);
    for (const Pose& pose : {upright, turned, outside}) {
      ExpectCounted([&](Point p) { return StrokeDistance(segments, 0.15f, p); }, pose,
                    "digit " + std::to_string(digit));
    }
  }
}

struct Moments {
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;  // means, and what they vary by
};

Moments MomentsOf(const Figure& figure, const Pose& pose, int size) {
  const std::vector<float> coverage = Coverage(figure.distance, pose, size);
  const double total = Sum(coverage);
  Moments moments;
  const auto add = [&](double* to, auto value) {
    for (int i = 0; i < size * size; ++i) {
      *to += coverage[i] * value(i % size + 0.5, i / size + 0.5) / total;
    }
  };
  add(&moments.x, [](double x, double) { return x; });
  add(&moments.y, [](double, double y) { return y; });
  add(&moments.xx, [&](double x, double) { return (x - moments.x) * (x - moments.x); });
  add(&moments.xy, [&](double x, double y) { return (x - moments.x) * (y - moments.y); });
  add(&moments.yy, [&](double, double y) { return (y - moments.y) * (y - moments.y); });
  return moments;
}

const Figure& Named(const std::string& name) {
  for (const Figure& figure : Figures()) {
    if (figure.name == name) return figure;
  }
  ADD_FAILURE() << name;
  return Figures().front();
}

TEST(FiguresTest, APoseMovesTurnsSlantsAndWidens) {
  const Moments moved = MomentsOf(Named("disc"), {.centre = {40.25f, 61.5f}, .radius = 20}, 100);
  EXPECT_NEAR(moved.x, 40.25, 0.02);
  EXPECT_NEAR(moved.y, 61.5, 0.02);
  // A disc's variance along x is r^2 / 4.
  EXPECT_NEAR(moved.xx, 100, 0.5);
  const Moments wide =
      MomentsOf(Named("disc"), {.centre = {50, 50}, .radius = 20, .aspect = 1.5f}, 100);
  EXPECT_NEAR(wide.xx, 100 * 1.5 * 1.5, 1);
  EXPECT_NEAR(wide.yy, 100, 0.5);
  // The longer axis of the bar, which lies along x, goes down to the right: clockwise.
  const Moments turned =
      MomentsOf(Named("bar"), {.centre = {50, 50}, .radius = 40, .angle = 0.5f}, 100);
  EXPECT_NEAR(std::atan2(2 * turned.xy, turned.xx - turned.yy) / 2, 0.5, 0.005);
  const Moments slanted =
      MomentsOf(Named("square"), {.centre = {50, 50}, .radius = 40, .slant = 0.25f}, 100);
  EXPECT_NEAR(slanted.xy / slanted.yy, 0.25, 0.005);
}

TEST(FiguresTest, APenDrawsRoundEnds) {
  std::vector<LineSegment> line;
  AddCurve({{0, 0}, {1, 0}}, line);
  EXPECT_NEAR(StrokeDistance(line, 0.1f, {0.5f, 0.3f}), 0.2, 1e-6);
  EXPECT_NEAR(StrokeDistance(line, 0.1f, {0.5f, 0}), -0.1, 1e-6);
  EXPECT_NEAR(StrokeDistance(line, 0.1f, {4, 4}), 4.9, 1e-6);
  EXPECT_NEAR(StrokeDistance(line, 0.1f, {-0.3f, -0.4f}), 0.4, 1e-6);
}

TEST(FiguresTest, ACurveCutsCornersButThoseGivenTwice) {
  std::vector<LineSegment> round, sharp;
  AddCurve({{0, 0}, {1, 0}, {1, 1}}, round);
  AddCurve({{0, 0}, {1, 0}, {1, 0}, {1, 1}}, sharp);
  for (const Point end : {Point{0, 0}, Point{1, 1}}) {
    EXPECT_NEAR(StrokeDistance(round, 0, end), 0, 1e-6);
    EXPECT_NEAR(StrokeDistance(sharp, 0, end), 0, 1e-6);
  }
  EXPECT_NEAR(StrokeDistance(sharp, 0, {1, 0}), 0, 1e-6);
  // The first cut goes from (3/4, 0) to (1, 1/4), the second leaves its middle where it is.
  EXPECT_NEAR(StrokeDistance(round, 0, {1, 0}), std::sqrt(2) / 8, 1e-6);
}

}  // namespace
}  // namespace tpurun
