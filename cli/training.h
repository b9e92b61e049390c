// What the verbs that train do alike.
#ifndef TPURUN_CLI_TRAINING_H_
#define TPURUN_CLI_TRAINING_H_

#include "cli/compose.h"
#include "cli/progress.h"

namespace tpurun {

// Signals end the training at its next step once it has begun to write; the line shows how far it
// is. `line` outlives the training.
void WatchTraining(ProgressLine& line, EstimatorOptions& options);

}  // namespace tpurun

#endif  // TPURUN_CLI_TRAINING_H_
