// The hyperparameters of a run, which typically differ between the runs of an experiment.
#ifndef TPURUN_CLI_CONFIG_HPARAMS_H_
#define TPURUN_CLI_CONFIG_HPARAMS_H_

#include <vector>

#include "cli/config/load_config.h"
#include "runtime/io/hparams.h"

namespace tpurun {

// Returns train_batch_size, tf_random_seed, the kind and the fields of each optimizer, and every
// other field that the command line set, except paths. A name is the field's path without "model."
// and without the index of an only element: "optimizer.learning_rate.constant".
std::vector<HParam> HParamsOf(const LoadedConfig& config);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_HPARAMS_H_
