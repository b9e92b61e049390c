// Evaluator: the compiled evaluation of a model, which runs over one input after the other.
#ifndef TPURUN_RUNTIME_ESTIMATOR_EVALUATOR_H_
#define TPURUN_RUNTIME_ESTIMATOR_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/variable_store.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/session/session.h"

namespace tpurun {

class Evaluator {
 public:
  // On the TPU only with eval_on_tpu.
  explicit Evaluator(EstimatorOptions options);

  // Builds the model; Load or Share compile it. InvalidArgument for one that has nothing to
  // evaluate.
  absl::Status Build();
  // The variables are those of the checkpoint; fresh ones without one.
  absl::Status Load(const std::optional<Checkpoint>& checkpoint);
  // The variables are those of a training in this process, as they are at each Run.
  absl::Status Share(const VariableStore& trained);

  // What is evaluated.
  struct EvalTarget {
    int64_t global_step = 0;
    std::optional<std::string> checkpoint;  // nullopt: none
    std::optional<TrainedFolder> trained;   // that of InputFnArgs
  };
  // Opens the input, runs it and writes the event file of the evaluation. PermissionDenied where
  // that cannot be written, Cancelled after an interrupt.
  absl::StatusOr<Evaluation> Run(const EvaluationInput& input, const EvalTarget& subject);
  // What Run would meet before its first batch: nothing is written.
  absl::Status Check(const EvaluationInput& input, const EvalTarget& subject);

  // The metrics that are numbers, by name.
  std::vector<std::string> Numbers() const;

 private:
  absl::StatusOr<InputSource> Open(const EvaluationInput& input, const EvalTarget& subject) const;

  const EstimatorOptions options_;
  Session session_;
  std::optional<EvalStep> step_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_EVALUATOR_H_
