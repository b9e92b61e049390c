// The figures of synthetic pictures: ten shapes and ten digits around the origin, with x to the
// right and y down. Also computes how much of each pixel of a picture a figure covers.
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

// The distance from `p` to the nearest edge of a figure, or a lower bound of it; negative inside.
using SignedDistance = std::function<float(Point p)>;

// A figure fits into the circle of radius 1 and touches or nearly touches it.
struct Figure {
  const char* name;
  float (*distance)(Point p);
};

// The shapes, indexed by label.
std::span<const Figure> Figures();

// A line that a pen draws: the control points of a curve from the first point to the last. The
// curve has a corner at a point that is given twice.
using Stroke = std::vector<Point>;

// The strokes of a digit 0..9 written upright: x within -0.5..0.5, y within -0.8..0.8.
std::vector<Stroke> DigitStrokes(int64_t digit);
struct LineSegment {
  Point from, along;
  float scale = 1;  // 1 / |along|^2
};
// Appends the segments of the curve to `segments`.
void AddCurve(Stroke control_points, std::vector<LineSegment>& segments);
// The signed distance from `p` to what a round pen of radius `pen` draws along the segments.
float StrokeDistance(const std::vector<LineSegment>& segments, float pen, Point p);

// The position of a figure in a picture. Pixel (column, row) is the square from (column, row) to
// (column + 1, row + 1).
struct Pose {
  Point centre;      // in pixels
  float radius = 1;  // in pixels per unit of the figure
  float angle = 0;   // in radians, clockwise
  float slant = 0;   // x per y
  float aspect = 1;  // width / height of the figure, which is 1 before scaling
};

// Returns the share of each pixel that the figure covers, for a picture of size x size pixels, row
// by row: 0 to 1, with a smooth step over one pixel at the figure's edge.
std::vector<float> Coverage(const SignedDistance& distance, const Pose& pose, int64_t size);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_FIGURES_H_
