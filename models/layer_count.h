// Counts the layers of a model before any of them is built.
#ifndef TPURUN_MODELS_LAYER_COUNT_H_
#define TPURUN_MODELS_LAYER_COUNT_H_

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"

namespace tpurun {

// Reports a model of more than kMaxLayers layers, counted with all copies. Such a model must not be
// built.
void CheckLayerCount(const proto::ModelSpec& spec, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYER_COUNT_H_
