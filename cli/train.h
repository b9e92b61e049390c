// `tpurun train`.
#ifndef TPURUN_CLI_TRAIN_H_
#define TPURUN_CLI_TRAIN_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

absl::Status TrainCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_TRAIN_H_
