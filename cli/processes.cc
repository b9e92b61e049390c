#include "cli/processes.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/logging.h"
#include "cli/signals.h"
#include "glog/logging.h"
#include "runtime/base/cpu.h"
#include "runtime/base/status.h"
#include "runtime/estimator/processes.h"
#include "runtime/fabric/mpi_fabric.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

// The CPUs of this machine for each of its processes; 0, which means all that this process may use,
// if the launcher has bound it to some of them.
int WorkersOfProcess() {
  const auto cpus = static_cast<int>(AllowedCpus().size());
  const bool bound = cpus < sysconf(_SC_NPROCESSORS_ONLN);
  return bound ? 0 : std::max(1, cpus / LocalSizeByMpi());
}

}  // namespace

absl::StatusOr<int> ReadProcesses(const CommandLine& command) {
  const int most =
      *std::max_element(std::begin(kLegalShards), std::end(kLegalShards)) / kLeastReplicasOfProcess;
  const int64_t processes = command.GetInt("processes");
  if (processes >= 2 && processes <= most && std::has_single_bit(uint64_t(processes)))
    return static_cast<int>(processes);
  return absl::InvalidArgumentError(
      absl::StrCat("--processes: got ", processes, ", want a power of 2 from 2 to ", most));
}

absl::StatusOr<std::unique_ptr<Fabric>> JoinProcesses(const CommandLine& command) {
  const double timeout = command.GetDouble("host_timeout", 30);
  if (!(timeout > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--host_timeout: got ", timeout, ", want seconds > 0"));
  }
  if (!StartedByMpi()) return nullptr;
  ASSIGN_OR_RETURN(std::unique_ptr<Fabric> fabric,
                   OpenMpiFabric({.host_timeout = timeout, .interrupt = &InterruptCount()}));
  if (!fabric->is_chief()) LogAsProcess(fabric->rank());
  return fabric;
}

absl::StatusOr<Composition> ComposeForProcesses(const CommandLine& command,
                                                const RequiredParts& required, Fabric* fabric) {
  if (fabric == nullptr) return Compose(command, required);
  absl::StatusOr<Composition> composition = Compose(command, required, fabric);
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, composition.status()));
  int& num_workers = composition->options.num_workers;
  if (num_workers == 0) num_workers = WorkersOfProcess();
  return composition;
}

bool LeavesTheWorkToTheChief(const CommandLine& command) {
  if (command.verb().joins_processes || !StartedByMpi()) return false;
  if (RankByMpi() != 0) return true;
  LOG(INFO) << command.verb().name << " runs in one process: the others end at once.";
  return false;
}

}  // namespace tpurun
