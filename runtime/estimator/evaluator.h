// Evaluator: the compiled evaluation of a model. It runs over one input after the other.
#ifndef TPURUN_RUNTIME_ESTIMATOR_EVALUATOR_H_
#define TPURUN_RUNTIME_ESTIMATOR_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/variable_store.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/estimator/processes.h"
#include "runtime/session/infeed.h"
#include "runtime/session/session.h"

namespace tpurun {

class Evaluator {
 public:
  // Uses the TPU only with eval_on_tpu.
  explicit Evaluator(EstimatorOptions options);

  // Builds the model. Load or Share compiles it. InvalidArgument if the model has nothing to
  // evaluate.
  absl::Status Build();
  // Compiles the model and reads the variables of the checkpoint, or initializes them if there is
  // none.
  absl::Status Load(const std::optional<Checkpoint>& checkpoint);
  // Compiles the model and shares the variables of a training in this process. Each Run uses their
  // values at that time.
  absl::Status Share(const VariableStore& trained);

  // The checkpoint or training that is evaluated.
  struct EvalTarget {
    int64_t global_step = 0;
    std::optional<std::string> checkpoint;  // nullopt if there is no checkpoint
    std::optional<TrainedFolder> trained;   // InputFnArgs::trained
  };
  // Opens the input, evaluates it and writes the event file of the evaluation. PermissionDenied if
  // the file cannot be written, Cancelled after an interrupt.
  absl::StatusOr<Evaluation> Run(const EvaluationInput& input, const EvalTarget& subject);
  // Returns the errors that Run would meet before its first batch, and InvalidArgument for a pipe,
  // which cannot be read again. Writes nothing.
  absl::Status Check(const EvaluationInput& input, const EvalTarget& subject);

  // The names of the metrics that are numbers.
  std::vector<std::string> Numbers() const;

 private:
  absl::StatusOr<InputSource> Open(const EvaluationInput& input, const EvalTarget& subject) const;
  // The batches of that input, without the first of them read.
  struct Feed {
    InfeedPtr infeed;
    std::vector<Likeness> likenesses;  // LikenessesOf, if there are several processes
  };
  absl::StatusOr<Feed> OpenFeed(const EvaluationInput& input, const EvalTarget& subject) const;

  const EstimatorOptions options_;
  Session session_;
  std::optional<EvalStep> step_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_EVALUATOR_H_
