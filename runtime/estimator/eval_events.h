// The event files of evaluations: one file per evaluation of a checkpoint, with one point on each
// metric's curve.
#ifndef TPURUN_RUNTIME_ESTIMATOR_EVAL_EVENTS_H_
#define TPURUN_RUNTIME_ESTIMATOR_EVAL_EVENTS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/summary.pb.h"

namespace tpurun {

// The tag of the string in an evaluation's summary that names the evaluated checkpoint.
inline constexpr char kCheckpointPath[] = "checkpoint_path";

// Writes the metrics of the checkpoint of `global_step` into `dir`, which is made if it does not
// exist. The metrics of a checkpoint exist once, however often it is evaluated: nothing is written
// if they are there already, and other metrics replace the ones of an earlier call.
absl::Status WriteEvaluation(const std::string& dir, int64_t global_step,
                             const tensorflow::Summary& summary);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_EVAL_EVENTS_H_
