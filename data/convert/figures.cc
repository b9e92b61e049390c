// Distances as in Inigo Quilez, "2D distance functions"; curves by Chaikin's corner cutting, two
// rounds of it.
#include "data/convert/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace tpurun {
namespace {

Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
Point operator*(float a, Point b) { return {a * b.x, a * b.y}; }
float Dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }
float Length(Point a) { return std::sqrt(Dot(a, a)); }

// Of the angle in degrees on the circle of that radius, clockwise from the top.
Point OnCircle(float radius, double degrees) {
  const double angle = degrees * M_PI / 180;
  return {radius * static_cast<float>(std::sin(angle)),
          -radius * static_cast<float>(std::cos(angle))};
}

LineSegment Between(Point from, Point to) {
  const Point along = to - from;
  return {.from = from, .along = along, .scale = 1 / std::max(Dot(along, along), 1e-12f)};
}

float SquaredDistance(const LineSegment& segment, Point p) {
  const Point from = p - segment.from;
  const float part = std::min(std::max(Dot(from, segment.along) * segment.scale, 0.0f), 1.0f);
  const Point away = from - part * segment.along;
  return Dot(away, away);
}

float Disc(float radius, Point p) { return Length(p) - radius; }

// Of half the width and half the height.
float Box(Point half, Point p) {
  const Point out = {std::abs(p.x) - half.x, std::abs(p.y) - half.y};
  return Length({std::max(out.x, 0.0f), std::max(out.y, 0.0f)}) +
         std::min(std::max(out.x, out.y), 0.0f);
}

float Polygon(std::span<const Point> corners, Point p) {
  float squared = HUGE_VALF;
  bool inside = false;
  Point before = corners.back();
  for (const Point corner : corners) {
    squared = std::min(squared, SquaredDistance(Between(before, corner), p));
    // Whether the edge crosses the line from p to the right.
    if ((corner.y > p.y) != (before.y > p.y) &&
        p.x < corner.x + (p.y - corner.y) * (before.x - corner.x) / (before.y - corner.y)) {
      inside = !inside;
    }
    before = corner;
  }
  return inside ? -std::sqrt(squared) : std::sqrt(squared);
}

float RingDistance(Point p) { return std::abs(Disc(0.775f, p)) - 0.225f; }

float FrameDistance(Point p) { return std::max(Box({0.7f, 0.7f}, p), -Box({0.42f, 0.42f}, p)); }

float TriangleDistance(Point p) {
  static const std::array<Point, 3> corners = {OnCircle(1, 0), OnCircle(1, 120), OnCircle(1, 240)};
  return Polygon(corners, p);
}

float BarDistance(Point p) { return Box({0.97f, 0.24f}, p); }

float CrossDistance(Point p) { return std::min(BarDistance(p), BarDistance({p.y, p.x})); }

float HalfDiscDistance(Point p) { return std::max(Disc(0.9f, {p.x, p.y - 0.4f}), p.y - 0.4f); }

float StarDistance(Point p) {
  static const std::array<Point, 10> corners = [] {
    std::array<Point, 10> of_star;
    for (size_t i = 0; i < of_star.size(); ++i) {
      of_star[i] = OnCircle(i % 2 == 0 ? 1.0f : 0.45f, 36.0 * static_cast<double>(i));
    }
    return of_star;
  }();
  return Polygon(corners, p);
}

constexpr Figure kFigures[] = {
    {.name = "disc", .distance = [](Point p) { return Disc(1, p); }},
    {.name = "ring", .distance = RingDistance},
    {.name = "square",
     .distance =
         [](Point p) {
           return Box({0.7f, 0.7f}, p);
         }},
    {.name = "frame", .distance = FrameDistance},
    {.name = "triangle", .distance = TriangleDistance},
    {.name = "cross", .distance = CrossDistance},
    {.name = "bar", .distance = BarDistance},
    {.name = "half-disc", .distance = HalfDiscDistance},
    {.name = "star", .distance = StarDistance},
    {.name = "two dots",
     .distance =
         [](Point p) {
           return Disc(0.36f, {std::abs(p.x) - 0.62f, p.y});
         }},
};

}  // namespace

std::span<const Figure> Figures() { return kFigures; }

std::vector<Stroke> DigitStrokes(int64_t digit) {
  static const auto* const kDigits = new std::vector<std::vector<Stroke>>{
      {{{0, -.8f}, {-.6f, -.8f}, {-.6f, .8f}, {.6f, .8f}, {.6f, -.8f}, {0, -.8f}}},
      {{{-.3f, -.45f}, {.05f, -.8f}, {.05f, -.8f}, {.05f, .8f}}},
      {{{-.45f, -.45f},
        {-.4f, -.85f},
        {.5f, -.9f},
        {.5f, -.2f},
        {-.5f, .8f},
        {-.5f, .8f},
        {.5f, .8f}}},
      {{{-.45f, -.7f},
        {0, -.9f},
        {.6f, -.7f},
        {.45f, -.05f},
        {-.1f, -.05f},
        {-.1f, -.05f},
        {.6f, 0},
        {.6f, .8f},
        {0, .9f},
        {-.5f, .65f}}},
      {{{.15f, -.8f}, {-.5f, .3f}, {-.5f, .3f}, {.5f, .3f}}, {{.2f, -.25f}, {.2f, .8f}}},
      {{{.45f, -.8f},
        {-.35f, -.8f},
        {-.35f, -.8f},
        {-.4f, -.1f},
        {-.4f, -.1f},
        {.1f, -.35f},
        {.65f, -.05f},
        {.5f, .85f},
        {-.1f, .9f},
        {-.5f, .65f}}},
      {{{.4f, -.8f},
        {-.35f, -.65f},
        {-.65f, .45f},
        {-.35f, .85f},
        {.5f, .9f},
        {.6f, .05f},
        {0, -.2f},
        {-.45f, .25f}}},
      {{{-.5f, -.8f}, {.5f, -.8f}, {.5f, -.8f}, {-.1f, .8f}}},
      {{{0, -.03f},
        {-.55f, -.25f},
        {-.5f, -.9f},
        {.5f, -.9f},
        {.55f, -.25f},
        {0, -.03f},
        {-.65f, .25f},
        {-.6f, .9f},
        {.6f, .9f},
        {.65f, .25f},
        {0, -.03f}}},
      {{{.42f, -.4f},
        {.35f, -.9f},
        {-.5f, -.9f},
        {-.55f, -.05f},
        {.1f, .1f},
        {.42f, -.4f},
        {.42f, -.4f},
        {.35f, .8f}}},
  };
  return (*kDigits)[digit];
}

void AddCurve(Stroke control_points, std::vector<LineSegment>& segments) {
  for (int round = 0; round < 2; ++round) {
    Stroke cut = {control_points.front()};
    for (size_t i = 1; i < control_points.size(); ++i) {
      const Point from = control_points[i - 1], to = control_points[i];
      cut.push_back(0.75f * from + 0.25f * to);
      cut.push_back(0.25f * from + 0.75f * to);
    }
    cut.push_back(control_points.back());
    control_points = std::move(cut);
  }
  for (size_t i = 1; i < control_points.size(); ++i) {
    segments.push_back(Between(control_points[i - 1], control_points[i]));
  }
}

float StrokeDistance(const std::vector<LineSegment>& segments, float pen, Point p) {
  float squared = HUGE_VALF;
  for (const LineSegment& segment : segments) {
    squared = std::min(squared, SquaredDistance(segment, p));
  }
  return std::sqrt(squared) - pen;
}

std::vector<float> Coverage(const SignedDistance& distance, const Pose& pose, int64_t size) {
  const float cosine = static_cast<float>(std::cos(static_cast<double>(pose.angle)));
  const float sine = static_cast<float>(std::sin(static_cast<double>(pose.angle)));
  const auto to_figure = [&](Point pixels) {
    const Point upright = (1 / pose.radius) * Point{cosine * pixels.x + sine * pixels.y,
                                                    cosine * pixels.y - sine * pixels.x};
    return Point{(upright.x - pose.slant * upright.y) / pose.aspect, upright.y};
  };
  const Point step = to_figure({1, 0});  // from a pixel to the next in its row
  std::vector<float> coverage;
  for (int64_t row = 0; row < size; ++row) {
    const Point first = to_figure(Point{0.5f, static_cast<float>(row) + 0.5f} - pose.centre);
    for (int64_t column = 0; column < size;) {
      const float edge = distance(first + static_cast<float>(column) * step);
      const float part = std::clamp(0.5f - edge * pose.radius, 0.0f, 1.0f);
      // The distance changes by no more than a step's length: as many pixels are as far from an
      // edge.
      const float same = (std::abs(edge) - 0.5f / pose.radius) / Length(step);
      const int64_t end = std::min(column + 1 + static_cast<int64_t>(std::max(same, 0.0f)), size);
      coverage.insert(coverage.end(), end - column, part * part * (3 - 2 * part));
      column = end;
    }
  }
  return coverage;
}

}  // namespace tpurun
