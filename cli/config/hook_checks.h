// Checks the hooks of a RunConfig.
#ifndef TPURUN_CLI_CONFIG_HOOK_CHECKS_H_
#define TPURUN_CLI_CONFIG_HOOK_CHECKS_H_

#include "proto/config_errors.h"
#include "proto/run_config.pb.h"

namespace tpurun {

// Adds every mistake of training_hook and evaluation_hook.
void CheckHooks(const proto::RunConfig& run, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_HOOK_CHECKS_H_
