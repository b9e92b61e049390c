// One process of the runs of mpi_fabric_test.py: mpi_process TIMEOUT STEP...
//   check      every collective
//   sum        an AllReduceSum
//   sums       the same until it fails
//   print      tells standard output that the steps before are done: "RANK PID"
//   rank=R     the next step is only that of rank R; rank!=R, of all others
//   sleep=S    seconds
//   interrupt=N the number of interrupts
//   child      a program that it starts is not started by MPI
//   fail       ends with an error; abort: ends the run of all
//   kill, stop SIGKILL and SIGSTOP to itself
// Ends with the exit code of the first error, whose text is on standard error: "RANK: TEXT".
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/fabric/mpi_fabric.h"
#include "tests/fabric/collective_checks.h"

namespace tpurun {
namespace {

std::atomic<int> interrupts{0};

absl::Status Sum(Fabric& fabric) {
  std::vector<float> x(300000, 1.0f), sum(x.size());
  RETURN_IF_ERROR(fabric.AllReduceSum(x.data(), sum.data(), static_cast<int64_t>(x.size())));
  for (const float element : sum) {
    if (element != static_cast<float>(fabric.size())) return absl::InternalError("a wrong sum");
  }
  return absl::OkStatus();
}

absl::Status RunStep(Fabric& fabric, absl::string_view step) {
  if (step == "check") return ErrorList(CheckCollectives(fabric, 6, 400000));
  if (step == "sum") return Sum(fabric);
  if (step == "sums") {
    while (true) RETURN_IF_ERROR(Sum(fabric));
  }
  if (step == "print") {
    std::printf("%d %d\n", fabric.rank(), getpid());
    std::fflush(stdout);
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&step, "sleep=")) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(step.data())));
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&step, "interrupt=")) {
    interrupts = std::atoi(step.data());
    return absl::OkStatus();
  }
  if (step == "child") {
    const int code = std::system("test -z \"$OMPI_COMM_WORLD_SIZE$PMIX_RANK$PMIX_NAMESPACE\"");
    if (code != 0 || !StartedByMpi()) return absl::InternalError("the environment of a child");
    return absl::OkStatus();
  }
  if (step == "fail") return absl::DataLossError("a damaged file");
  if (step == "abort") fabric.Abort(absl::DataLossError("a damaged file"));
  if (step == "kill") kill(getpid(), SIGKILL);
  if (step == "stop") kill(getpid(), SIGSTOP);
  return absl::OkStatus();
}

absl::Status RunSteps(Fabric& fabric, const std::vector<std::string>& steps) {
  bool skip = false;
  for (absl::string_view step : steps) {
    if (absl::ConsumePrefix(&step, "rank=")) {
      skip = fabric.rank() != std::atoi(step.data());
    } else if (absl::ConsumePrefix(&step, "rank!=")) {
      skip = fabric.rank() == std::atoi(step.data());
    } else {
      if (!skip) RETURN_IF_ERROR(RunStep(fabric, step));
      skip = false;
    }
  }
  return absl::OkStatus();
}

absl::Status Run(double timeout, const std::vector<std::string>& steps) {
  if (!StartedByMpi()) return absl::FailedPreconditionError("not started by MPI");
  ASSIGN_OR_RETURN(const auto fabric,
                   OpenMpiFabric({.host_timeout = timeout, .interrupt = &interrupts}));
  return RunSteps(*fabric, steps);
}

}  // namespace
}  // namespace tpurun

int main(int argc, char** argv) {
  const absl::Status status =
      tpurun::Run(std::atof(argv[1]), std::vector<std::string>(argv + 2, argv + argc));
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  for (const std::string& line : tpurun::ErrorLines(status)) {
    if (!status.ok()) std::fprintf(stderr, "%s: %s\n", rank ? rank : "", line.c_str());
  }
  return tpurun::ExitCode(status);
}
