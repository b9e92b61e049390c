// How many layers a model has before one of them is built.
#ifndef TPURUN_MODELS_LAYER_COUNT_H_
#define TPURUN_MODELS_LAYER_COUNT_H_

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"

namespace tpurun {

// Reports a model of more layers than are ever meant, every copy counted; nothing is to be built of
// one.
void CheckLayerCount(const proto::ModelSpec& spec, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYER_COUNT_H_
