// train --fabric=simulated: several processes of a training in this one, with a simulated network
// between them.
#ifndef TPURUN_CLI_SIMULATED_PROCESSES_H_
#define TPURUN_CLI_SIMULATED_PROCESSES_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "runtime/fabric/rounds.h"

namespace tpurun {

struct SimulatedProcesses {
  int count = 1;
  Link link;  // a network without delay, unless flags say otherwise
};

// nullopt without --fabric=simulated. Its flags are an error then, and under mpirun it is one.
absl::StatusOr<std::optional<SimulatedProcesses>> ReadSimulatedProcesses(
    const CommandLine& command);

// Trains with a thread for each process, each with an Estimator and a device of its own. The chief
// is this thread; it alone logs, shows the progress and writes the result.
absl::Status TrainSimulated(const CommandLine& command, const SimulatedProcesses& processes);

}  // namespace tpurun

#endif  // TPURUN_CLI_SIMULATED_PROCESSES_H_
