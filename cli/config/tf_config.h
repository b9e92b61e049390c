// Reads TF_CONFIG, the environment variable that tells TensorFlow's RunConfig the role of this
// process in a cluster. Its value is a JSON object in which every key is optional:
//   { "cluster": { JOB: [ADDRESS, ...], ... }, "task": { "type": JOB, "index": NUMBER },
//     "session_master": ADDRESS, "eval_session_master": ADDRESS, "model_dir": FOLDER,
//     "service": { "tpu_worker_job_name": JOB } }
#ifndef TPURUN_CLI_CONFIG_TF_CONFIG_H_
#define TPURUN_CLI_CONFIG_TF_CONFIG_H_

#include <string>

#include "proto/config_errors.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"

namespace tpurun {

// Sets model_dir, master, evaluation_master and tpu_config.tpu_job_name of `run` if neither file
// nor command line sets them. evaluation_master defaults to master, unless this task is an
// evaluator. Adds mistakes to `errors`, such as another model_dir or a cluster of several hosts.
// Logs a warning for an unknown key. `text` is empty if the variable is not set.
void ApplyTfConfig(const std::string& text, proto::RunConfig* run, SourceLocations* locations,
                   ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_TF_CONFIG_H_
