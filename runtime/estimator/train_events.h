// TrainEvents: the event file of a training, its report and its summaries.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_EVENTS_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_EVENTS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/train_program.h"
#include "runtime/estimator/train_report.h"
#include "runtime/estimator/train_summaries.h"
#include "runtime/io/directory.h"
#include "runtime/io/event_writer.h"

namespace tpurun {

// Used by one thread at a time.
class TrainEvents {
 public:
  // Both arguments must outlive the object.
  TrainEvents(const EstimatorOptions& options, const TrainProgram& program);

  // Creates the event file.
  absl::Status Open(const Directory& dir);
  bool is_open() const { return writer_ != nullptr; }
  EventWriter& writer() { return *writer_; }
  // Writes the description of the run that starts at `start_step`. TensorBoard then drops the
  // events of a killed run after the checkpoint.
  absl::Status Begin(const Directory& dir, int64_t start_step);
  absl::Status LoopDone(int64_t step, double loss, bool last) {
    return report_->LoopDone(step, loss, last);
  }
  // Excludes `time`, which was not spent on training, from the rates.
  void Paused(std::chrono::steady_clock::duration time) { report_->Paused(time); }
  // Writes the summaries that the step that began at `global_step` fed out.
  absl::Status WriteSummaries(int64_t global_step, const std::byte* slots) {
    return summaries_->Write(global_step, slots);
  }
  // Writes the last event.
  absl::Status End(int64_t step, bool success) { return report_->End(step, success); }

 private:
  const EstimatorOptions& options_;
  const TrainProgram& program_;
  std::unique_ptr<EventWriter> writer_;
  std::unique_ptr<TrainReport> report_;
  std::unique_ptr<TrainSummaries> summaries_;  // nullptr if the program feeds nothing out
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_EVENTS_H_
