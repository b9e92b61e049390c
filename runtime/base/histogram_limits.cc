#include "runtime/base/histogram_limits.h"

#include <limits>

namespace tpurun {

const std::vector<double>& HistogramLimits() {
  static const std::vector<double>& limits = *new std::vector<double>([] {
    std::vector<double> positive;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> all;
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) all.push_back(-*limit);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }());
  return limits;
}

}  // namespace tpurun
