// How much a batch of predictions may be.
#ifndef TPURUN_RUNTIME_ESTIMATOR_PREDICTION_BYTES_H_
#define TPURUN_RUNTIME_ESTIMATOR_PREDICTION_BYTES_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// InvalidArgument when the outputs of a step of PREDICT on several replicas are more than
// TPUEstimator takes off the device at once, 1 GiB, with each of them and its shape over all
// replicas. `where` is the place of the configuration's keys.
absl::Status CheckPredictionBytes(const Graph& step, const std::string& where);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PREDICTION_BYTES_H_
