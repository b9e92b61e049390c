// Warnings about settings of a RunConfig that are legal but may have another effect than intended.
#ifndef TPURUN_CLI_CONFIG_CONFIG_WARNINGS_H_
#define TPURUN_CLI_CONFIG_CONFIG_WARNINGS_H_

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "proto/run_config.pb.h"

namespace tpurun {

// Adds every warning: an eval_on_tpu that is given without use_tpu, and, if the run `trains`, a
// given save_checkpoints_steps, save_summary_steps or log_step_count_steps that loops make longer.
// If the training `alternates` with evaluations, loops end at the evaluations too.
void WarnOfConfig(const proto::RunConfig& run, bool trains, bool alternates, ConfigErrors& errors);

// Adds a warning for each regression head whose label the input of the training normalizes: its
// predictions and metrics are then in another unit than the data.
void WarnOfNormalizedLabels(const proto::RunConfig& run, const proto::ModelSpec& model,
                            ConfigErrors& errors);

// Adds a warning for a monitor that keeps the checkpoint with the lowest value of a metric that is
// better the higher it is, because no mode is given.
void WarnOfMonitor(const proto::RunConfig& run, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_CONFIG_WARNINGS_H_
