// Limits the size of a batch of predictions.
#ifndef TPURUN_RUNTIME_ESTIMATOR_PREDICTION_BYTES_H_
#define TPURUN_RUNTIME_ESTIMATOR_PREDICTION_BYTES_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// InvalidArgument if the outputs of a PREDICT step on several replicas have more than 1 GiB, the
// most that TPUEstimator takes off the device at once. The message has each output with its shape
// over all replicas. `where` is the place of the configuration's keys.
absl::Status CheckPredictionBytes(const Graph& step, const std::string& where);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PREDICTION_BYTES_H_
