#include "cli/train.h"

#include "cli/compose.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/training.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::Status TrainCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(Composition composition, Compose(command, {.train = true}));
  ProgressLine line(command, false);
  WatchTraining(line, composition.options);
  Estimator estimator(std::move(composition.options));
  ASSIGN_OR_RETURN(const TrainResult result, estimator.Train(composition.input_fn));
  return WriteResult(TrainResultJson(result));
}

}  // namespace tpurun
