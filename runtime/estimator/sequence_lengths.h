// The training step at the sequence lengths of the buckets of its input (TrainOptions::buckets).
#ifndef TPURUN_RUNTIME_ESTIMATOR_SEQUENCE_LENGTHS_H_
#define TPURUN_RUNTIME_ESTIMATOR_SEQUENCE_LENGTHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The lengths of the buckets before the last, which has the sequences as the model declares them.
// None without buckets.
std::vector<int64_t> ShorterLengths(const EstimatorOptions& options);

// The place of the bucket with that length, for messages.
std::string PlaceOfLength(const EstimatorOptions& options, int64_t length);

// The model for sequences of one of these lengths. InvalidArgument, with the place of the buckets,
// if it has other variables than the model for the declared length, which has `variables`.
absl::StatusOr<EstimatorSpec> CallModelFnOfLength(const EstimatorOptions& options, int64_t length,
                                                  const std::vector<Variable>& variables);

// Finds the errors of CallModelFnOfLength, of all lengths.
absl::Status CheckLengths(const EstimatorOptions& options, const std::vector<Variable>& variables);

// Logs, for verbs that take the steps of a training one by one, that all have the declared length.
void LogFullLength(const EstimatorOptions& options);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_SEQUENCE_LENGTHS_H_
