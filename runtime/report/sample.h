// Fewer points of a curve than were logged, which look the same.
#ifndef TPURUN_RUNTIME_REPORT_SAMPLE_H_
#define TPURUN_RUNTIME_REPORT_SAMPLE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/report/run_events.h"

namespace tpurun {

// The most points that each of several curves may keep so that together they keep `budget` or less;
// short ones leave their share to the others. At least 4.
size_t PointsPerCurve(std::vector<size_t> sizes, size_t budget);

// The indices, rising, of at most `limit` (4 or more) points: all of them where they are that few.
// Else the first, the last, and from each of equal pieces between them the least and the greatest
// value, and its first value that is not finite when the curve has any.
std::vector<size_t> SamplePoints(std::span<const ScalarPoint> points, size_t limit);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_SAMPLE_H_
