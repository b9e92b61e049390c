// Profiles the steps of a mode: runs them as train, evaluate or predict do, and records what every
// worker does. Writes no files.
#ifndef TPURUN_RUNTIME_ESTIMATOR_PROFILE_H_
#define TPURUN_RUNTIME_ESTIMATOR_PROFILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/profile.pb.h"
#include "runtime/device/run_profile.h"
#include "runtime/estimator/estimator.h"
#include "runtime/program/core_program.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct ProfileArgs {
  ModeKey mode = ModeKey::kTrain;
  // Steps to record, after a few that are not. 0: as many as take about 2 seconds, 10 to 1000.
  // An input that ends begins again; fewer steps if it can be read only once.
  int64_t steps = 0;
  // Empty: the latest of model_dir, or fresh variables if there is none.
  std::string checkpoint;
  // For a trace. Else ProfileDetail::kSomeSteps.
  bool records_every_call = false;
};

struct ProfiledSteps {
  proto::Profile profile;
  CoreProgram program;
  std::unique_ptr<const RunProfile> run;  // for a trace
  std::vector<HostTrace::Span> host_spans;
};

// InvalidArgument if the input has no whole batch. Cancelled after an interrupt.
absl::StatusOr<ProfiledSteps> ProfileSteps(const EstimatorOptions& options, const InputFn& input_fn,
                                           const ProfileArgs& args);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PROFILE_H_
