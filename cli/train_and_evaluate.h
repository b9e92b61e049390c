// `tpurun train_and_evaluate`.
#ifndef TPURUN_CLI_TRAIN_AND_EVALUATE_H_
#define TPURUN_CLI_TRAIN_AND_EVALUATE_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

absl::Status TrainAndEvaluateCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_TRAIN_AND_EVALUATE_H_
