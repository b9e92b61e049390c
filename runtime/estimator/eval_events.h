// The event files of evaluations: one each, a point on every metric's curve.
#ifndef TPURUN_RUNTIME_ESTIMATOR_EVAL_EVENTS_H_
#define TPURUN_RUNTIME_ESTIMATOR_EVAL_EVENTS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/summary.pb.h"

namespace tpurun {

// The string in an evaluation's summary that says what was evaluated.
inline constexpr char kCheckpointPath[] = "checkpoint_path";

// Writes the metrics of the checkpoint of `global_step` into `dir`, which is made if need be.
// However often a checkpoint is evaluated, its metrics are there once: nothing is written when they
// are there already, and other metrics replace those that an earlier call wrote.
absl::Status WriteEvaluation(const std::string& dir, int64_t global_step,
                             const tensorflow::Summary& summary);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_EVAL_EVENTS_H_
