#include "cli/processes.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/logging.h"
#include "cli/signals.h"
#include "cli/version_command.h"
#include "glog/logging.h"
#include "runtime/base/cpu.h"
#include "runtime/base/status.h"
#include "runtime/estimator/processes.h"
#include "runtime/fabric/mpi_fabric.h"
#include "runtime/io/file.h"
#include "runtime/io/identity.h"
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

absl::StatusOr<std::string> ReadProgramIdentity() {
  ASSIGN_OR_RETURN(const std::string program, ReadFile("/proc/self/exe"));
  return absl::StrCat(kVersion, ", ", IdentityOf(program));
}

// What differs between builds of this program.
absl::StatusOr<std::string> ProgramIdentity() {
  static const absl::StatusOr<std::string>& identity =
      *new absl::StatusOr<std::string>(ReadProgramIdentity());
  return identity;
}

// The verb, with its flags that say how often the processes exchange values, and which.
std::string CommandText(const CommandLine& command) {
  std::string text = command.verb().name;
  for (const char* flag : {"watch", "mode", "steps"}) {
    if (command.Has(flag)) absl::StrAppend(&text, " --", flag, "=", command.GetString(flag));
  }
  return text;
}

// Standard input of all processes but one is empty.
absl::Status CheckNoStandardInput(const CommandLine& command) {
  for (const char* flag : {"config", "model"}) {
    if (command.GetString(flag) != "-") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag,
                     "=-: standard input is that of one process, and several read the "
                     "configuration: name a file"));
  }
  return absl::OkStatus();
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
  absl::StatusOr<std::unique_ptr<Fabric>> fabric =
      OpenMpiFabric({.host_timeout = timeout, .interrupt = &InterruptCount()});
  // A number of processes that is wrong, all know.
  if (absl::IsInvalidArgument(fabric.status()) && RankByMpi() != 0)
    return ToldByChief(fabric.status());
  if (fabric.ok() && !(*fabric)->is_chief()) LogAsProcess((*fabric)->rank());
  return fabric;
}

absl::StatusOr<Composition> ComposeForProcesses(const CommandLine& command,
                                                const RequiredParts& required, Fabric* fabric) {
  if (fabric == nullptr) return Compose(command, required);
  ASSIGN_OR_RETURN(std::string program, ProgramIdentity());
  RETURN_IF_ERROR(
      CheckAlike(fabric, {{"command", CommandText(command)}, {"program", std::move(program)}}));
  const auto compose = [&]() -> absl::StatusOr<Composition> {
    RETURN_IF_ERROR(CheckNoStandardInput(command));
    return Compose(command, required, fabric);
  };
  absl::StatusOr<Composition> composition = compose();
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, composition.status()));
  const EstimatorOptions& options = composition->options;
  RETURN_IF_ERROR(CheckAlike(fabric, {{kConfiguration, options.config.DebugString()}}));
  RETURN_IF_ERROR(CheckAlike(fabric, {{kVocabularies, options.canonical.DebugString()}}));
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
