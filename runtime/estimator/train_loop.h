// TrainLoop: loops over the device until the final step, and what one that stops early means.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_LOOP_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_LOOP_H_

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
#include "runtime/estimator/train_program.h"
#include "runtime/session/outfeed.h"

namespace tpurun {

class TrainLoop {
 public:
  // All outlive it. `evaluations` may be null: none.
  TrainLoop(const EstimatorOptions& options, TrainProgram& program, TrainInput& input,
            TrainOutput& output, TrainEvaluations* evaluations);

  absl::Status Run();
  // Ends what Run has used.
  absl::Status Finish();
  absl::StatusOr<TrainResult> Result() const;

 private:
  struct Totals {
    int64_t step = 0;            // global_step
    std::vector<float> losses;   // of the last step, a core
    double seconds = 0;          // in loops
    double summary_seconds = 0;  // of those, in what summaries need

    // The mean over the cores, in core order.
    double loss() const;
  };

  RunResult RunOnce(int64_t iterations);
  absl::Status LoopDone(int64_t steps, double seconds);
  absl::Status Evaluate();
  // Runs the training's hooks of a moment; where a required one fails, saves the step.
  absl::Status RunHooks(proto::Hook::At at);
  // The same, where a checkpoint has been saved since it was last called.
  absl::Status RunHooksOfCheckpoint();
  absl::Status HookFailed(const absl::Status& failed);
  // What a loop that stopped early means; saves what may be saved.
  absl::Status Stopped(const RunResult& result);
  absl::Status Interrupted();
  absl::Status LossNotFinite(const RunResult& result);
  absl::Status VariableNotFinite(const RunResult& result);
  // The end of both: where the batch behind global_step `step` ends, what to do (or nothing), what
  // is left.
  absl::Status NotFinite(int64_t step, std::string message, const std::string& advice);

  const EstimatorOptions& options_;
  TrainProgram& program_;
  TrainInput& input_;
  TrainOutput& output_;
  TrainEvaluations* const evaluations_;
  Hooks hooks_;
  std::string hooked_checkpoint_;     // the latest that hooks have run for
  std::unique_ptr<Outfeed> outfeed_;  // of summaries; null without
  Totals done_;
  bool stopped_early_ = false;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_LOOP_H_
