// Shared by the verbs that train.
#ifndef TPURUN_CLI_TRAINING_H_
#define TPURUN_CLI_TRAINING_H_

#include "cli/compose.h"
#include "cli/progress.h"

namespace tpurun {

// Makes signals end the training at its next step, from its first write on, and shows the progress
// on `line`. `line` must outlive the training.
void WatchTraining(ProgressLine& line, EstimatorOptions& options);

}  // namespace tpurun

#endif  // TPURUN_CLI_TRAINING_H_
