// Checks the fields of TPUConfig that decide how batches are distributed to the cores, and the
// fields for several cores per replica.
#ifndef TPURUN_CLI_CONFIG_INPUT_FORMS_H_
#define TPURUN_CLI_CONFIG_INPUT_FORMS_H_

#include <cstdint>
#include <string>

#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "proto/config_errors.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The reason why several cores per replica are refused.
inline constexpr char kNoModelParallelism[] =
    "model parallelism is not emulated: each core is a replica of its own";

// Reports input forms that are for other modes or that this device cannot have. Reports every
// mistake of num_cores_per_replica and input_partition_dims, and refuses both, because model
// parallelism is not emulated.
void CheckInputForms(const LoadedConfig& config, const RequiredParts& required,
                     ConfigErrors& errors);

// Reports a batch size > 0 that is not divisible by the cores, if the mode's input form divides the
// batch among them.
void CheckShared(const proto::RunConfig& run, ModeKey mode, const std::string& field, int64_t size,
                 ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_INPUT_FORMS_H_
