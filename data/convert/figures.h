// What synthetic pictures show: ten shapes and ten digits around the origin, x to the right and y
// down, and how much of each pixel of a picture one covers.
#ifndef TPURUN_DATA_CONVERT_FIGURES_H_
#define TPURUN_DATA_CONVERT_FIGURES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tpurun {

struct Point {
  float x = 0;
  float y = 0;
};

// To the nearest edge of a figure, or less; negative inside.
using SignedDistance = std::function<float(Point p)>;

// Fits into the circle of radius 1 and touches it or nearly so.
struct Figure {
  const char* name;
  float (*distance)(Point p);
};

// By label.
std::span<const Figure> Figures();

// A line that a pen draws: the control points of a curve that goes from the first to the last.
// Where one is there twice the curve has a corner.
using Stroke = std::vector<Point>;

// Of a digit 0..9 written upright: x within -0.5..0.5, y within -0.8..0.8.
std::vector<Stroke> DigitStrokes(int64_t digit);
struct LineSegment {
  Point from, along;
  float scale = 1;  // 1 / |along|^2
};
// Adds the curve to them.
void AddCurve(Stroke control_points, std::vector<LineSegment>& segments);
// Of what a round pen of that radius draws along them.
float StrokeDistance(const std::vector<LineSegment>& segments, float pen, Point p);

// Where a figure stands in a picture, whose pixel (column, row) is the square from there to
// (column + 1, row + 1).
struct Pose {
  Point centre;      // in pixels
  float radius = 1;  // pixels that are 1 of the figure
  float angle = 0;   // in radians, clockwise
  float slant = 0;   // x per y
  float aspect = 1;  // its width by its height, both of which are 1 in the figure
};

// Of each pixel of a picture of size x size, row by row, how much the figure covers of it: 0 to 1,
// a smooth step over the pixel at the figure's edge.
std::vector<float> Coverage(const SignedDistance& distance, const Pose& pose, int64_t size);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_FIGURES_H_
