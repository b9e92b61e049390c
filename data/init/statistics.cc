#include "data/init/statistics.h"

#include <algorithm>
#include <cmath>

namespace tpurun {

// B. P. Welford 1962; Merge is T. F. Chan, G. H. Golub and R. J. LeVeque 1979.
void NumberStatistics::Add(double value) {
  ++count;
  const double delta = value - mean;
  mean += delta / static_cast<double>(count);
  squares += delta * (value - mean);
  min = std::min(min, value);
  max = std::max(max, value);
}

void NumberStatistics::Merge(const NumberStatistics& other) {
  if (other.count == 0) return;
  const double n = static_cast<double>(count), m = static_cast<double>(other.count);
  const double delta = other.mean - mean;
  mean += delta * m / (n + m);
  squares += other.squares + delta * delta * n * m / (n + m);
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

double NumberStatistics::stddev() const {
  return min < max ? std::sqrt(squares / static_cast<double>(count)) : 0;
}

void ValueCounts::Add(std::string_view value, bool held_out) {
  if (!complete_) return;
  auto found = map_.find(value);
  if (found == map_.end()) {
    if (map_.size() == kMost) return Drop();
    found = map_.emplace(std::string(value), Count()).first;
    bytes_ += sizeof(*found) + 2 * sizeof(void*) + value.size();
  }
  ++found->second.all;
  if (!held_out) ++found->second.train;
}

void ValueCounts::Drop() {
  map_ = {};
  bytes_ = 0;
  complete_ = false;
}

}  // namespace tpurun
