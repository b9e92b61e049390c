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

// How many processes a launcher, such as mpirun, has started to train together, and which one this
// is.
struct StartedProcesses {
  // The verb that they run. Empty: one that does not train, in one process alone. It takes a
  // cluster of any size.
  std::string verb = {};
  int count = 1;
  int rank = 0;
};

// Sets model_dir, master, evaluation_master and tpu_config.tpu_job_name of `run` if neither file
// nor command line sets them. evaluation_master defaults to master, unless this task is an
// evaluator. A cluster changes nothing: the launcher says which processes train together, and the
// cluster has to say the same. It has a host for each process; the chief, if it has one, is process
// 0, and the workers follow. A master that is a host of the cluster is left out too. Adds mistakes
// to `errors`, such as another model_dir, another number of hosts or another task. Logs a warning
// for an unknown key. `text` is empty if the variable is not set.
void ApplyTfConfig(const std::string& text, const StartedProcesses& started, proto::RunConfig* run,
                   SourceLocations* locations, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_TF_CONFIG_H_
