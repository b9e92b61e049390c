// What of a RunConfig is no mistake, but does something else than it may be meant to.
#ifndef TPURUN_CLI_CONFIG_CONFIG_WARNINGS_H_
#define TPURUN_CLI_CONFIG_CONFIG_WARNINGS_H_

#include "proto/config_errors.h"
#include "proto/run_config.pb.h"

namespace tpurun {

// Adds every warning: an eval_on_tpu that is given without use_tpu, and, of a RunConfig that
// trains, a save_checkpoints_steps, save_summary_steps or log_step_count_steps that is given and
// that loops make longer.
// One that `alternates` with evaluations ends loops at these too.
void WarnOfConfig(const proto::RunConfig& run, bool trains, bool alternates, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_CONFIG_WARNINGS_H_
