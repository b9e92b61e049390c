#include "runtime/report/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace tpurun {
namespace {

constexpr size_t kFewestPoints = 4;

bool IsFinite(const ScalarPoint& point) { return std::isfinite(point.value); }

// What is kept of points[begin, end).
void SamplePiece(std::span<const ScalarPoint> points, size_t begin, size_t end,
                 std::vector<size_t>* kept) {
  std::set<size_t> chosen;
  size_t least = end;
  size_t greatest = end;
  size_t not_finite = end;
  for (size_t i = begin; i < end; ++i) {
    if (!IsFinite(points[i])) {
      if (not_finite == end) not_finite = i;
      continue;
    }
    if (least == end || points[i].value < points[least].value) least = i;
    if (greatest == end || points[i].value > points[greatest].value) greatest = i;
  }
  for (const size_t i : {least, greatest, not_finite}) {
    if (i != end) chosen.insert(i);
  }
  kept->insert(kept->end(), chosen.begin(), chosen.end());
}

}  // namespace

size_t PointsPerCurve(std::vector<size_t> sizes, size_t budget) {
  std::sort(sizes.begin(), sizes.end());
  size_t left = budget;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t share = left / (sizes.size() - i);
    if (sizes[i] > share) return std::max(share, kFewestPoints);
    left -= sizes[i];
  }
  return sizes.empty() ? kFewestPoints : std::max(sizes.back(), kFewestPoints);
}

std::vector<size_t> SamplePoints(std::span<const ScalarPoint> points, size_t limit) {
  if (points.size() <= limit) {
    std::vector<size_t> all(points.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  const size_t a_piece = std::all_of(points.begin(), points.end(), IsFinite) ? 2 : 3;
  const size_t pieces = (limit - 2) / a_piece;
  const size_t inner = points.size() - 2;
  std::vector<size_t> kept = {0};
  for (size_t piece = 0; piece < pieces; ++piece) {
    SamplePiece(points, 1 + inner * piece / pieces, 1 + inner * (piece + 1) / pieces, &kept);
  }
  kept.push_back(points.size() - 1);
  return kept;
}

}  // namespace tpurun
