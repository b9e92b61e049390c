#include "cli/simulated_processes.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/compose.h"
#include "cli/fabric_flags.h"
#include "cli/logging.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/training.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/base/threads.h"
#include "runtime/estimator/train_peers.h"
#include "runtime/fabric/mpi_fabric.h"
#include "runtime/fabric/simulated_fabric.h"

namespace tpurun {
namespace {

struct SimulatedProcess {
  std::unique_ptr<Fabric> fabric;  // destroyed when it has ended: others then wait for it no more
  Composition composition;
  absl::Status status;
};

absl::StatusOr<std::vector<SimulatedProcess>> ComposeAll(const CommandLine& command,
                                                         const SimulatedProcesses& of_run) {
  std::vector<SimulatedProcess> processes;
  for (std::unique_ptr<Fabric>& fabric : MakeSimulatedFabrics(of_run.count, of_run.link)) {
    std::optional<ScopedNoLog> no_log;
    if (!fabric->is_chief()) no_log.emplace();
    ASSIGN_OR_RETURN(Composition composition, Compose(command, {.train = true}, fabric.get()));
    if (!command.Has("worker_threads")) composition.options.num_workers = 1;
    // The programs of all processes differ in the number of their first replica alone.
    if (!fabric->is_chief()) composition.options.dump_dir.clear();
    processes.push_back({std::move(fabric), std::move(composition), absl::OkStatus()});
  }
  return processes;
}

absl::StatusOr<TrainResult> TrainAs(SimulatedProcess& process) {
  absl::StatusOr<TrainResult> result =
      Estimator(std::move(process.composition.options)).Train(process.composition.input_fn);
  process.status = result.status();
  process.fabric.reset();
  return result;
}

// The error of the run. Where a process has ended by itself, the chief knows that alone.
absl::Status ErrorOf(const std::vector<SimulatedProcess>& processes) {
  const absl::Status& of_chief = processes[0].status;
  if (!of_chief.ok() && !absl::IsUnavailable(of_chief)) return of_chief;
  for (size_t rank = 1; rank < processes.size(); ++rank) {
    const absl::Status& status = processes[rank].status;
    if (status.ok() || absl::IsUnavailable(status) || IsToldByChief(status)) continue;
    return Annotate(status, absl::StrCat("process ", rank));
  }
  return of_chief;
}

}  // namespace

absl::StatusOr<std::optional<SimulatedProcesses>> ReadSimulatedProcesses(
    const CommandLine& command) {
  const std::string fabric = command.GetString("fabric", "mpi");
  if (fabric != "mpi" && fabric != "simulated") {
    return absl::InvalidArgumentError(
        absl::StrCat("--fabric: got ", Quote(fabric), ", want mpi or simulated"));
  }
  if (fabric == "mpi") {
    for (const char* flag : {"processes", "fabric_latency", "fabric_bandwidth"}) {
      if (!command.Has(flag)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag,
                       " wants --fabric=simulated; processes that have a network of "
                       "their own are started by mpirun -np N"));
    }
    return std::nullopt;
  }
  if (StartedByMpi()) {
    return absl::InvalidArgumentError(
        "--fabric=simulated emulates the processes in one, but mpirun or srun has started several: "
        "leave one of both out");
  }
  if (!command.Has("processes"))
    return absl::InvalidArgumentError("--fabric=simulated wants --processes=P");
  SimulatedProcesses processes;
  ASSIGN_OR_RETURN(processes.count, ReadProcesses(command));
  ASSIGN_OR_RETURN(processes.link, LinkOf(command, {}));
  return processes;
}

absl::Status TrainSimulated(const CommandLine& command, const SimulatedProcesses& of_run) {
  ASSIGN_OR_RETURN(std::vector<SimulatedProcess> processes, ComposeAll(command, of_run));
  LOG(INFO) << "Emulating " << of_run.count << " processes in this one.";
  ProgressLine line(command, false);
  WatchTraining(line, processes[0].composition.options);
  std::vector<std::thread> threads;
  for (int rank = 1; rank < of_run.count; ++rank) {
    threads.push_back(StartThread([&process = processes[rank]] {
      const ScopedNoLog no_log;
      (void)TrainAs(process);
    }));
  }
  const absl::StatusOr<TrainResult> result = TrainAs(processes[0]);
  for (std::thread& thread : threads) thread.join();
  RETURN_IF_ERROR(ErrorOf(processes));
  return WriteResult(TrainResultJson(*result));
}

}  // namespace tpurun
