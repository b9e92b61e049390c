// Estimator::Evaluate: exact passes over inputs with the variables of a checkpoint.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/evaluator.h"
#include "runtime/estimator/hooks.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/setup.h"

namespace tpurun {

absl::Status Estimator::EvaluateAll(const std::vector<EvaluationInput>& evaluations,
                                    const std::string& checkpoint, const OnEvaluation& on_result) {
  Fabric* const fabric = options_.fabric;
  const bool chief = IsChief(fabric);
  absl::StatusOr<std::optional<Checkpoint>> found = std::optional<Checkpoint>();
  if (chief) found = TrainedCheckpoint(options_, ModeKey::kEval, checkpoint);
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> chosen,
                   ShareCheckpoint(fabric, std::move(found)));
  Evaluator evaluator(options_);
  absl::Status built = evaluator.Build();
  if (built.ok()) built = evaluator.Load(chosen);
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, built));
  Evaluator::EvalTarget subject;
  ASSIGN_OR_RETURN(subject.trained, TrainedFolderOf(options_, chosen));
  if (chosen.has_value()) {
    subject.checkpoint = chosen->prefix();
    ASSIGN_OR_RETURN(subject.global_step, chosen->GlobalStep());
  }
  Hooks hooks(options_.config.evaluation_hook(), "evaluation_hook", options_);
  HookMoment last;
  for (const EvaluationInput& evaluation : evaluations) {
    if (!chosen.has_value()) break;
    RETURN_IF_ERROR(WarnOfDrift(options_, *chosen, ModeKey::kEval, evaluation.evaluate.name()));
  }
  RETURN_IF_ERROR(CheckOnce());
  for (const EvaluationInput& evaluation : evaluations) {
    const absl::StatusOr<Evaluation> ran = evaluator.Run(evaluation, subject);
    RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, ran.status()));
    const Evaluation& result = *ran;
    absl::Status told;
    if (chief) {
      told = on_result(result);
      last = MomentOf(result);
      if (told.ok()) told = hooks.Run(proto::Hook::EVALUATION, last);
    }
    RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, told));
  }
  absl::Status ended;
  if (chief) ended = hooks.Run(proto::Hook::END, last);
  if (chief && ended.ok()) ended = hooks.Finish();
  return FirstErrorOfProcesses(fabric, ended);
}

absl::StatusOr<Evaluation> Estimator::Evaluate(const InputFn& input_fn,
                                               const proto::Evaluate& evaluate,
                                               const std::string& checkpoint) {
  Evaluation result;
  RETURN_IF_ERROR(EvaluateAll({{evaluate, input_fn}}, checkpoint, [&](const Evaluation& only) {
    result = only;
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace tpurun
