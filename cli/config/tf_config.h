// TF_CONFIG, the environment variable by which a cluster tells TensorFlow's RunConfig what this
// process is: a JSON object
//   { "cluster": { JOB: [ADDRESS, ...], ... }, "task": { "type": JOB, "index": NUMBER },
//     "session_master": ADDRESS, "eval_session_master": ADDRESS, "model_dir": FOLDER,
//     "service": { "tpu_worker_job_name": JOB } }
// of which every key may be left out.
#ifndef TPURUN_CLI_CONFIG_TF_CONFIG_H_
#define TPURUN_CLI_CONFIG_TF_CONFIG_H_

#include <string>

#include "proto/config_errors.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"

namespace tpurun {

// Sets model_dir, master, evaluation_master and tpu_config.tpu_job_name of `run` where neither file
// nor command line does. evaluation_master falls back to master, unless this task is an evaluator.
// Mistakes, such as another model_dir or a cluster of several hosts, go to `errors`; a key that is
// not one of those above is warned of. `text` is empty for a variable that is not set.
void ApplyTfConfig(const std::string& text, proto::RunConfig* run, SourceLocations* locations,
                   ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_TF_CONFIG_H_
