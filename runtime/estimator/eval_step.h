// The graphs of evaluation and prediction: the model's, with what leaves the device as outputs.
#ifndef TPURUN_RUNTIME_ESTIMATOR_EVAL_STEP_H_
#define TPURUN_RUNTIME_ESTIMATOR_EVAL_STEP_H_

#include <cstddef>
#include <cstdint>
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

// InvalidArgument for an evaluation without steps of an input without end.
absl::Status CheckEnds(const InputSource& input, const proto::Evaluate& evaluate);

struct EvalStep {
  Graph graph;  // an output for each statistic of each metric, in order
  std::vector<EvalMetric> metrics;
  int64_t batch_per_replica = 0;
  int counted_replicas = 1;
};

// InvalidArgument for a model without metrics, Internal for a statistic that is not
// f32[batch_per_replica, ...].
absl::StatusOr<EvalStep> BuildEvalStep(EstimatorSpec spec, const InputDeployment& deployment);

// Adds up the statistics of an evaluation in double: step by step, in core order, row by row. Of a
// batch that all cores have, the first core's alone.
class EvalSums {
 public:
  explicit EvalSums(const EvalStep& step);
  // `slots` is an outfeed entry's.
  void Add(const std::byte* slots);
  // Name and value of each metric, in order.
  std::vector<std::pair<std::string, MetricValue>> Results() const;

  // The mean over the steps of the loss of core 0's rows, which TPUEstimator gives as the loss.
  double loss_shard_0() const;

 private:
  // Of one step.
  double LossOfShard0(const std::byte* slots) const;

  const EvalStep& step_;
  SlotLayout layout_;
  std::vector<std::vector<double>> sums_;  // of each statistic
  double losses_of_shard_0_ = 0;           // summed over the steps
  int64_t steps_ = 0;
};

// Keeps the predictions of these names, all when there are none, as outputs in that order.
// InvalidArgument for a name that the model does not predict, with the place of the names.
absl::StatusOr<Graph> BuildPredictStep(EstimatorSpec spec, const std::vector<std::string>& keys,
                                       const std::string& keys_where);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_EVAL_STEP_H_
