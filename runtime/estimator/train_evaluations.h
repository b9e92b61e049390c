// TrainEvaluations: the part of train_and_evaluate between the loops of a training. It decides when
// to evaluate, which checkpoint is the best, what is exported, and whether the training stops
// early.
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

// The state of the training at the moment of an evaluation.
struct Evaluated {
  int64_t step = 0;
  std::string checkpoint;  // prefix of the checkpoint; empty if none is saved
  bool last = false;       // the last evaluation of the training
};

class TrainEvaluations {
 public:
  // All arguments must outlive the object. `start.evaluations` is the state in the resumed
  // checkpoint, empty at the beginning, and becomes the state for the next checkpoint.
  // `export_model` is Estimator::Export for a directory and a checkpoint.
  TrainEvaluations(const EstimatorOptions& options, const TrainAndEvaluateInputs& inputs,
                   ExportFn export_model, TrainStart& start);

  // Compiles the evaluation, which shares the variables of the training, and opens its inputs once,
  // so that their errors show before the first step.
  absl::Status Build(const VariableStore& trained);

  // Before the first step of a resumed training: runs the evaluation that the previous run may have
  // missed, and exports the best checkpoint if no exporter has it. Returns true if that ends the
  // training early, or if the previous run ended early and made the resumed checkpoint the latest.
  absl::StatusOr<bool> Resume(const Evaluated& resumed);

  // The step that a loop from `step` on may not cross.
  int64_t NextStop(int64_t step, int64_t final_step) const;
  // Returns true if the model is to be evaluated at `step`, where a loop has ended. Records the
  // result in the state, for the checkpoint that is saved before the evaluation.
  bool Due(int64_t step, bool last);
  // Evaluates, exports and updates the state and the file of the best checkpoint. Errors as in
  // Evaluator::Run, Hooks::Run and Estimator::Export.
  absl::Status Run(const Evaluated& evaluated);
  // Runs the hooks of the end and waits for all hooks in the background.
  absl::Status Finish();
  absl::Status WaitForHooks();
  // After a Run: true if the metric has not improved for `patience` evaluations.
  bool stops_early() const;
  // After a training that has stopped early at `step`: if restore_best says so, makes the best
  // checkpoint the latest.
  absl::Status RestoreBest(int64_t step);
  // The step of the best checkpoint after RestoreBest has made it the latest, else nullopt.
  std::optional<int64_t> restored_step() const;
  // Sets what `result` says of the best evaluation, and after RestoreBest of the latest checkpoint.
  void Describe(TrainResult& result) const;

 private:
  using Clock = std::chrono::steady_clock;

  absl::Status RunWith(Evaluator& evaluator, const Evaluated& evaluated);
  // Evaluates the checkpoint of `step`, which is not the resumed one.
  absl::Status EvaluatePending(int64_t step);
  const proto::TrainAndEvaluate& config() const { return options_.config.train_and_evaluate(); }
  // The evaluation whose metric is monitored, or nullptr if none has that name.
  const EvaluationInput* Monitored() const;
  absl::Status CheckMonitor() const;
  void ForgetBest();
  // The prefix of the checkpoint of a step.
  std::string PrefixOf(int64_t step) const;
  // Returns true if the evaluation is the best so far, and records that in the state.
  bool IsBest(const Evaluation& evaluation);
  // Writes the file of the best checkpoint, after an evaluation of `checkpoint`.
  absl::Status SaveBest(const std::string& checkpoint);
  // Forgets the best checkpoint so far if it cannot be used. `monitor` identifies the monitor.
  absl::Status CheckBest(const std::string& monitor);
  // The state in the file of the best checkpoint; nullopt, with a warning, if it is damaged.
  absl::StatusOr<std::optional<proto::EvaluationState>> ReadFileOfBest() const;
  // `stopped` is the state in the file, whose best checkpoint is the resumed one. True if an
  // earlier run has stopped early and made it the latest. The state is then the one at the end of
  // that run.
  bool HasRestored(const proto::EvaluationState& stopped);
  bool restores_best() const {
    return config().early_stopping().restore_best() && state_.has_best() && stops_early();
  }

  const EstimatorOptions& options_;
  const TrainAndEvaluateInputs& inputs_;
  Evaluator evaluator_;
  Exporters exporters_;
  Hooks hooks_;
  HookMoment last_;  // the moment of the latest evaluation
  TrainStart& start_;
  proto::EvaluationState& state_;                  // start_.evaluations
  bool restored_ = false;                          // the latest checkpoint is the best one
  std::optional<Clock::time_point> evaluated_at_;  // when the latest evaluation began
  const Clock::time_point began_ = Clock::now();
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_EVALUATIONS_H_
