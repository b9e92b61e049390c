#include "cli/train.h"

#include <memory>
#include <optional>

#include "cli/compose.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/simulated_processes.h"
#include "cli/training.h"
#include "runtime/base/status.h"
#include "runtime/estimator/processes.h"

namespace tpurun {

absl::Status TrainCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(const std::optional<SimulatedProcesses> simulated,
                   ReadSimulatedProcesses(command));
  if (simulated.has_value()) return TrainSimulated(command, *simulated);
  ASSIGN_OR_RETURN(const std::unique_ptr<Fabric> fabric, JoinProcesses(command));
  ASSIGN_OR_RETURN(Composition composition,
                   ComposeForProcesses(command, {.train = true}, fabric.get()));
  ProgressLine line(command, false);
  WatchTraining(line, composition.options);
  Estimator estimator(std::move(composition.options));
  ASSIGN_OR_RETURN(const TrainResult result, estimator.Train(composition.input_fn));
  if (!IsChief(fabric.get())) return absl::OkStatus();
  return WriteResult(TrainResultJson(result));
}

}  // namespace tpurun
