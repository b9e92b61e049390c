// What TPUConfig says of how batches reach the cores, and of cores that share a replica.
#ifndef TPURUN_CLI_CONFIG_INPUT_FORMS_H_
#define TPURUN_CLI_CONFIG_INPUT_FORMS_H_

#include <cstdint>
#include <string>

#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "proto/config_errors.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Why what splits a replica is refused.
inline constexpr char kNoModelParallelism[] =
    "model parallelism is not emulated: each core is a replica of its own";

// Adds forms that are for other modes or that this device cannot have, and every mistake of
// num_cores_per_replica and input_partition_dims, which are refused: model parallelism is not
// emulated.
void CheckInputForms(const LoadedConfig& config, const RequiredParts& required,
                     ConfigErrors& errors);

// Adds a batch size > 0 that the cores cannot share, where the mode's form has them share it.
void CheckShared(const proto::RunConfig& run, ModeKey mode, const std::string& field, int64_t size,
                 ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_INPUT_FORMS_H_
