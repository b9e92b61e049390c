// Reduces a curve to fewer points that look the same.
#ifndef TPURUN_RUNTIME_REPORT_SAMPLE_H_
#define TPURUN_RUNTIME_REPORT_SAMPLE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/report/run_events.h"

namespace tpurun {

// The most points that each of several curves may keep so that all together keep at most `budget`.
// Short curves leave their share to the others. At least 4.
size_t PointsPerCurve(std::vector<size_t> sizes, size_t budget);

// The ascending indices of at most `limit` (4 or more) points: all points if there are at most
// `limit`. Else the first and the last point, and from each of equal pieces in between the least
// and the greatest value, and, if the curve has values that are not finite, the first of them.
std::vector<size_t> SamplePoints(std::span<const ScalarPoint> points, size_t limit);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_SAMPLE_H_
