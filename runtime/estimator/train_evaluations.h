// TrainEvaluations: what train_and_evaluate does between the loops of a training: when it
// evaluates, which checkpoint is the best, what is exported, and when the training stops early.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_EVALUATIONS_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_EVALUATIONS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/evaluation_state.pb.h"
#include "runtime/checkpoint/variable_store.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/evaluator.h"
#include "runtime/estimator/exporters.h"
#include "runtime/estimator/hooks.h"
#include "runtime/estimator/train_start.h"

namespace tpurun {

// What the training knows at the moment of an evaluation.
struct Evaluated {
  int64_t step = 0;
  std::string checkpoint;  // its prefix; empty where none is saved
  bool last = false;       // the training ends here
};

class TrainEvaluations {
 public:
  // All outlive it. Of `start` its `evaluations` are what the checkpoint to go on from says, empty
  // at the beginning, and what the next one is to say; `export_model` is Estimator::Export of a
  // directory and checkpoint.
  TrainEvaluations(const EstimatorOptions& options, const TrainAndEvaluateInputs& inputs,
                   ExportFn export_model, TrainStart& start);

  // Compiles the evaluation, which shares the variables of the training, and opens its inputs once:
  // what is wrong with them shows before the first step.
  absl::Status Build(const VariableStore& trained);

  // Ahead of the first step of a training that goes on: evaluates what the run before may not have
  // come to, and exports the best checkpoint where no exporter has it. Whether that ends the
  // training early.
  absl::StatusOr<bool> Resume(const Evaluated& resumed);

  // The step that a loop from `step` on may not go beyond.
  int64_t NextStop(int64_t step, int64_t final_step) const;
  // Whether the model is to be evaluated at `step`, where a loop has ended. Says so in the state,
  // for the checkpoint that is saved for it.
  bool Due(int64_t step, bool last);
  // Evaluates, exports and updates the state. Errors are those of Evaluator::Run, of Hooks::Run and
  // of Estimator::Export.
  absl::Status Run(const Evaluated& evaluated);
  // Runs the hooks of the end, and waits for all that run beside.
  absl::Status Finish();
  absl::Status WaitForHooks();
  // After a Run: the metric has not been better for `patience` evaluations.
  bool stops_early() const;

 private:
  using Clock = std::chrono::steady_clock;

  absl::Status RunWith(Evaluator& evaluator, const Evaluated& evaluated);
  // Evaluates a checkpoint that is not the one to go on from.
  absl::Status EvaluatePending(int64_t step);
  const proto::TrainAndEvaluate& config() const { return options_.config.train_and_evaluate(); }
  // The evaluation whose metric is monitored; null when none has that name.
  const EvaluationInput* Monitored() const;
  absl::Status CheckMonitor() const;
  void ForgetBest();
  // Of the checkpoint of a step.
  std::string PrefixOf(int64_t step) const;
  // Whether the evaluation is the best so far; the state then says so.
  bool IsBest(const Evaluation& evaluation);

  const EstimatorOptions& options_;
  const TrainAndEvaluateInputs& inputs_;
  Evaluator evaluator_;
  Exporters exporters_;
  Hooks hooks_;
  HookMoment last_;  // of the latest evaluation
  const TrainStart& start_;
  proto::EvaluationState& state_;                  // of it
  std::optional<Clock::time_point> evaluated_at_;  // when the latest evaluation began
  const Clock::time_point began_ = Clock::now();
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_EVALUATIONS_H_
