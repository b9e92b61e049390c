// `tpurun check --saved_model=DIR`: which ops of a SavedModel or GraphDef a Cloud TPU has.
#ifndef TPURUN_CLI_CHECK_SAVED_MODEL_H_
#define TPURUN_CLI_CHECK_SAVED_MODEL_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

absl::Status CheckSavedModel(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_SAVED_MODEL_H_
