// TrainProfile: profiles some steps of a training and writes what TensorBoard's profile plugin and
// `tpurun report` show.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_PROFILE_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_PROFILE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "runtime/device/run_profile.h"
#include "runtime/estimator/estimator.h"
#include "runtime/session/session.h"

namespace tpurun {

class TrainProfile {
 public:
  // Profiles options.train.profiled. Both arguments must outlive the object.
  TrainProfile(const EstimatorOptions& options, const Session& session)
      : options_(options), session_(session) {}

  // The record of a loop of `iterations` steps that begins at global_step `step`. nullptr if none
  // of its steps is profiled.
  RunProfile* Begin(int64_t step, int64_t iterations);
  // After a loop that ended at `step`, or after the last one: writes the files, once, if the last
  // profiled step is done or there are no more steps.
  absl::Status End(int64_t step, bool last);

 private:
  struct Loop {
    std::unique_ptr<RunProfile> run;
    int64_t first_step = 0;  // global_step after its first profiled step
  };

  absl::Status Write();

  const EstimatorOptions& options_;
  const Session& session_;
  std::vector<Loop> loops_;
  bool done_ = false;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_PROFILE_H_
