// The graphs of evaluation and prediction: the graph of the model with outputs for the values that
// leave the device.
#ifndef TPURUN_RUNTIME_ESTIMATOR_EVAL_STEP_H_
#define TPURUN_RUNTIME_ESTIMATOR_EVAL_STEP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/run_config.pb.h"
#include "runtime/ir/graph.h"
#include "runtime/program/core_program.h"
#include "runtime/spec/input_deployment.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// InvalidArgument if the input has no end and the evaluation has no `steps`.
absl::Status CheckEnds(const InputSource& input, const proto::Evaluate& evaluate);

struct EvalStep {
  Graph graph;  // one output for each statistic of each metric, and for its `undefined`, in order
  std::vector<EvalMetric> metrics;
  int64_t batch_per_replica = 0;
  int counted_replicas = 1;
  std::map<std::string, std::vector<std::string>> class_names = {};  // EstimatorSpec::class_names
};

// InvalidArgument if the model has no metrics. Internal if a statistic is not
// f32[batch_per_replica, ...].
absl::StatusOr<EvalStep> BuildEvalStep(EstimatorSpec spec, const InputDeployment& deployment);

// Sums the statistics of an evaluation in double: step by step, in core order, row by row. If all
// cores have the same batch, only the first core's rows count.
class EvalSums {
 public:
  explicit EvalSums(const EvalStep& step);
  // Adds one step. `slots` are the slots of an outfeed entry.
  void Add(const std::byte* slots);
  // Name and value of each metric, in order. InvalidArgument if one is undefined for a value.
  absl::StatusOr<std::vector<std::pair<std::string, MetricValue>>> Results() const;

  // The mean over the steps of the loss of core 0's rows, which TPUEstimator reports as the loss.
  double loss_shard_0() const;

 private:
  // The loss of core 0's rows in one step.
  double LossOfShard0(const std::byte* slots) const;

  const EvalStep& step_;
  SlotLayout layout_;
  std::vector<std::vector<double>> sums_;  // sums of each statistic
  double losses_of_shard_0_ = 0;           // sum over the steps
  int64_t steps_ = 0;
};

// Makes the predictions named by `keys` the outputs, in that order, or all predictions if `keys` is
// empty. InvalidArgument, with the place `keys_where`, if the model has no prediction of a name.
absl::StatusOr<Graph> BuildPredictStep(EstimatorSpec spec, const std::vector<std::string>& keys,
                                       const std::string& keys_where);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_EVAL_STEP_H_
