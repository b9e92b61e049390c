// `tpurun predict`.
#ifndef TPURUN_CLI_PREDICT_H_
#define TPURUN_CLI_PREDICT_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

absl::Status PredictCommand(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_PREDICT_H_
