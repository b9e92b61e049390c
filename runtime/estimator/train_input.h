// TrainInput: the input of a training, from the InputFn to the device's infeed.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_INPUT_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_INPUT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/train_program.h"
#include "runtime/session/infeed.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Steps count like global_step. The first batch belongs to the step that begins at start_step.
class TrainInput {
 public:
  TrainInput(const EstimatorOptions& options, int64_t start_step)
      : options_(options), start_step_(start_step), fed_from_(start_step) {}
  TrainInput(const TrainInput&) = delete;
  TrainInput& operator=(const TrainInput&) = delete;

  // Opens the input at the position of the checkpoint, if there is one, and sets the final step.
  absl::Status Open(const InputFn& input_fn, const std::optional<Checkpoint>& resumed);
  // Unavailable if the input is a pipe that has been read from: it cannot be opened again.
  absl::Status CheckOpensAgain() const;
  // Starts the infeed.
  absl::Status Start(const TrainProgram& program);
  // Waits for the first batch, so that bad input shows before anything is written.
  absl::Status WaitForFirst();
  // After a failed run: feeds the batches of steps first_step + 1 to last_step again, in a new
  // infeed. `position` is the position of the input of all processes before them, from a
  // checkpoint; nullopt is the start of the input, if the training began there. FailedPrecondition
  // if the input has no positions or is blocked in a read. The source's own errors if it cannot be
  // read again.
  absl::Status Rewind(const TrainProgram& program, const std::optional<std::string>& position,
                      int64_t first_step, int64_t last_step);

  int64_t start_step() const { return start_step_; }
  int64_t final_step() const { return final_step_; }
  bool already_trained() const { return final_step_ <= start_step_; }
  Infeed& infeed() { return *infeed_; }
  // The position of this process's input (JoinPositions) after the batches of the steps up to
  // `step`, which the device has taken.
  absl::StatusOr<std::string> PositionAt(int64_t step) const {
    return infeed_->PositionAfter(step - fed_from_);
  }
  const std::vector<InputFile>& files() const { return source_.files; }
  const std::map<std::string, std::string>& assets() const { return source_.assets; }
  // Stops the infeed. Returns the origin of the last row of the step that begins at `step`, or
  // empty if it is unknown.
  std::string WhereIs(int64_t step) { return infeed_->WhereIs(step - fed_from_); }

 private:
  absl::StatusOr<InputSource> Call(const InputFn& input_fn) const;
  absl::Status Resume(const InputFn& input_fn, const Checkpoint& resumed);
  // Starts an infeed with `batches` batches from the present position of the source.
  absl::Status Feed(const EstimatorOptions& options, const TrainProgram& program, int64_t batches);
  std::string EndedMessage(int64_t batches) const;

  const EstimatorOptions& options_;
  const int64_t start_step_;
  std::optional<TrainedFolder> trained_;  // the folder of the checkpoint
  int64_t final_step_ = 0;
  InputSource source_;
  // position at the start of a training from its beginning
  std::optional<std::string> first_position_;
  int64_t fed_from_;  // the infeed's first batch belongs to the step that begins here
  InfeedPtr infeed_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_INPUT_H_
