// The processes of a run that mpirun or srun has started.
#ifndef TPURUN_CLI_PROCESSES_H_
#define TPURUN_CLI_PROCESSES_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "cli/compose.h"
#include "runtime/fabric/fabric.h"

namespace tpurun {

// The value of --processes: a power of 2, as many as share the cores of the largest device.
absl::StatusOr<int> ReadProcesses(const CommandLine& command);

// Joins the other processes, for a verb that joins_processes; nullptr if this process was started
// alone. From then on the lines of the others than the chief, process 0, name their process.
absl::StatusOr<std::unique_ptr<Fabric>> JoinProcesses(const CommandLine& command);

// Compose for the processes of `fabric` (nullptr: this one alone). If one of them cannot, all have
// the first error. Without --worker_threads the processes of a machine share its CPUs.
absl::StatusOr<Composition> ComposeForProcesses(const CommandLine& command,
                                                const RequiredParts& required, Fabric* fabric);

// True if this process is not the first of several, whose verb runs in one process alone.
bool LeavesTheWorkToTheChief(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_PROCESSES_H_
