// The buckets of TensorBoard's histograms. Source: tensorflow/core/lib/histogram/histogram.cc.
#ifndef TPURUN_RUNTIME_BASE_HISTOGRAM_LIMITS_H_
#define TPURUN_RUNTIME_BASE_HISTOGRAM_LIMITS_H_

#include <vector>

namespace tpurun {

// Upper limits in ascending order: 0, +-1e-12 times the powers of 1.1 below 1e20, and +-DBL_MAX.
// Bucket i counts the values x with limits[i - 1] <= x < limits[i].
const std::vector<double>& HistogramLimits();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_HISTOGRAM_LIMITS_H_
