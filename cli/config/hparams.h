// The hyperparameters of a run: what a shell loop varies.
#ifndef TPURUN_CLI_CONFIG_HPARAMS_H_
#define TPURUN_CLI_CONFIG_HPARAMS_H_

#include <vector>

#include "cli/config/load_config.h"
#include "runtime/io/hparams.h"

namespace tpurun {

// train_batch_size, tf_random_seed, the kind and the fields of each optimizer, and whatever the
// command line set, but for paths. A name is the field's path without "model." and without the
// index of an only element: "optimizer.learning_rate.constant".
std::vector<HParam> HParamsOf(const LoadedConfig& config);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_HPARAMS_H_
