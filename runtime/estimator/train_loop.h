// TrainLoop: runs loops on the device until the final step, and handles loops that stop early.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_LOOP_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_LOOP_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/hooks.h"
#include "runtime/estimator/train_evaluations.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_output.h"
#include "runtime/estimator/train_peers.h"
#include "runtime/estimator/train_profile.h"
#include "runtime/estimator/train_program.h"
#include "runtime/session/outfeed.h"

namespace tpurun {

class TrainLoop {
 public:
  // All arguments must outlive the object. `evaluations` is nullptr if there are none.
  TrainLoop(const EstimatorOptions& options, TrainPeers& peers, TrainProgram& program,
            TrainInput& input, TrainOutput& output, TrainEvaluations* evaluations);

  absl::Status Run();
  // Ends the infeed, the outfeed, the output and the hooks that Run used.
  absl::Status Finish();
  absl::StatusOr<TrainResult> Result() const;

 private:
  struct Totals {
    int64_t step = 0;            // global_step
    std::vector<float> losses;   // of the last step, one per core
    double seconds = 0;          // seconds spent in loops
    double summary_seconds = 0;  // seconds of these spent on summaries

    // The mean over the cores, in core order.
    double loss() const;
  };

  // Runs a loop of so many steps on the device.
  RunResult RunLoop(int64_t iterations, RunProfile* profile);
  absl::Status LoopDone(int64_t steps, double seconds);
  // Tells options.train.progress, if there is one, that `step` is done, after `steps` steps of the
  // present loop in so many seconds.
  void TellProgress(int64_t step, int64_t steps, double seconds);
  // Once in a training, when its loops show it.
  void WarnOfSlowInput();
  absl::Status Evaluate();
  // Runs the training's hooks of a moment. If a required hook fails, saves the step.
  absl::Status RunHooks(proto::Hook::At at);
  // Runs the hooks for a checkpoint if one has been saved since the last call.
  absl::Status RunHooksOfCheckpoint();
  // The moment after the last step and after RestoreBest, of the latest checkpoint.
  HookMoment MomentOfEnd() const;
  // For a failure beside the steps: saves the step and returns the failure.
  absl::Status SaveAndFail(const absl::Status& failed);
  // The status for a loop that stopped early. Saves a checkpoint if the state is good.
  absl::Status Stopped(const RunResult& result);
  // The error for a process that is gone: its share of the values is lost.
  absl::Status ProcessLost(const absl::Status& why) const;
  absl::Status Interrupted();
  absl::Status LossNotFinite(const RunResult& result);
  absl::Status VariableNotFinite(const RunResult& result);
  int ProcessOf(int replica) const;
  // " (core 9 of process 1)"; empty if there is one process.
  std::string InProcess(int replica) const;
  // The common end of LossNotFinite and VariableNotFinite: adds to `message` where the batch of the
  // step that begins at global_step `step` ends, the advice (may be empty) and the last good
  // checkpoint.
  absl::Status NotFinite(const std::string& where, std::string message, const std::string& advice);

  const EstimatorOptions& options_;
  TrainPeers& peers_;
  TrainProgram& program_;
  TrainInput& input_;
  TrainOutput& output_;
  TrainEvaluations* const evaluations_;
  Hooks hooks_;
  std::string hooked_checkpoint_;  // the latest checkpoint that hooks have run for
  TrainProfile profile_;
  std::unique_ptr<Outfeed> outfeed_;  // for summaries; nullptr if there are none
  Totals done_;
  double steps_per_second_ = 0;  // the latest that TellProgress knows
  bool stopped_early_ = false;
  std::chrono::nanoseconds waited_before_{0};  // for the first batch, before the loops
  bool warned_of_input_ = false;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_LOOP_H_
