// TrainProgram: the compiled training step of a model with its variables; with buckets, a step for
// each of them.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_PROGRAM_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_PROGRAM_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/learning_rates.h"
#include "runtime/estimator/projector.h"
#include "runtime/ir/graph.h"
#include "runtime/session/session.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct TrainProgram {
  // Starts the workers.
  explicit TrainProgram(const EstimatorOptions& options);

  // Fills the other fields. The variables come from the checkpoint to resume, if there is one.
  absl::Status Build(const EstimatorOptions& options, const std::optional<Checkpoint>& resumed);

  // The graph of a step for a batch of that bucket.
  const Graph& GraphOf(int bucket) const {
    return bucket < std::ssize(graphs_of_buckets) ? graphs_of_buckets[bucket] : graph;
  }

  Session session;
  Graph graph;  // graph of a step; variables that differ between cores are marked
  std::vector<Graph> graphs_of_buckets;   // of those whose sequences are shorter than `graph` has
  std::vector<Variable> model_variables;  // without slots and counters of the training
  LearningRates learning_rates;
  std::vector<TrainSummary> summaries;
  Projector projector;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_PROGRAM_H_
