#include "cli/train_and_evaluate.h"

#include <memory>
#include <utility>

#include "cli/compose.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/training.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/estimator/processes.h"

namespace tpurun {

absl::Status TrainAndEvaluateCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Fabric> fabric, JoinProcesses(command));
  ASSIGN_OR_RETURN(
      Composition composition,
      ComposeForProcesses(
          command, {.train = true, .evaluate = true, .all_evaluations = true, .alternating = true},
          fabric.get()));
  ProgressLine line(command, /*writes_output=*/false);
  WatchTraining(line, composition.options);
  Estimator estimator(std::move(composition.options));
  const bool several = composition.evaluations.size() > 1;
  bool closed = false;  // standard output, by who read it
  const auto on_result = [&](const Evaluation& evaluation) -> absl::Status {
    if (closed) return absl::OkStatus();
    line.Erase();
    const absl::Status written = WriteResult(EvaluationJson(evaluation, several));
    closed = IsClosedPipe(written);
    if (!closed) return written;
    LOG(WARNING) << "Nobody reads standard output any more; the training goes on, and its "
                    "evaluations are in the event files.";
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const TrainResult result,
                   estimator.TrainAndEvaluate({.train = composition.input_fn,
                                               .evaluations = std::move(composition.evaluations),
                                               .export_inputs = composition.export_inputs,
                                               .on_result = on_result}));
  if (!IsChief(fabric.get())) return absl::OkStatus();
  line.Erase();
  return WriteResult(TrainResultJson(result));
}

}  // namespace tpurun
