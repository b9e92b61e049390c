// Writes the progress of a training to the event file and the log, at the periods of the RunConfig.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_REPORT_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_REPORT_H_

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/run_config.pb.h"
#include "runtime/estimator/learning_rates.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/hparams.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// `loss` and the learning rates of the last step are written at the first loop boundary that is at
// least save_summary_steps steps after the last write, and always after the first and the last
// loop. TPUEstimator's own cadence leaves out two of three points if loops are long; the difference
// is deliberate. The log line, global_step/sec and examples/sec follow log_step_count_steps, or the
// time of iterations_per_loop if that is a time. The first loop only starts the clock of the rates.
class TrainReport {
 public:
  // A learning rate whose tag is in `summary_tags` is left to the model's summaries. `events` must
  // outlive the report and may be nullptr. iterations_per_loop has been checked.
  TrainReport(const proto::RunConfig& config, LearningRates rates,
              std::set<std::string> summary_tags, EventWriter* events);

  // Writes the description of the run: the hyperparameters, and the configuration and the variables
  // as text.
  absl::Status Begin(int64_t step, const std::vector<HParam>& hparams,
                     const std::string& config_text, const Graph& graph);
  absl::Status LoopDone(int64_t step, double loss, bool last);
  // Excludes `time` from the rates.
  void Paused(std::chrono::steady_clock::duration time) { logged_.time += time; }
  absl::Status End(int64_t step, bool success);

 private:
  using Clock = std::chrono::steady_clock;
  struct Mark {
    int64_t step = -1;  // -1: not set yet
    Clock::time_point time;
  };

  // If the loops are given as a time, a line is logged whenever that time has passed since the last
  // line, however many steps that is.
  bool DueForLog(int64_t step, Clock::time_point now) const;
  // True if `period` steps have passed since the mark.
  static bool Due(const Mark& mark, int64_t step, int64_t period) {
    return mark.step < 0 || step - mark.step >= period;
  }
  absl::Status WriteLoss(int64_t step, double loss);
  absl::Status Log(int64_t step, double loss, Clock::time_point now);

  const int64_t summary_steps_;
  const int64_t log_steps_;
  const int64_t loop_seconds_;  // 0: loops have a number of steps
  const int64_t batch_size_;
  const LearningRates learning_rates_;
  const std::set<std::string> summary_tags_;
  EventWriter* const events_;
  Mark summary_, logged_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_REPORT_H_
