// Builds the layers of a ModelSpec in order: names, scopes, inputs and layer_defaults. The code of
// each kind of layer is in layers/.
#ifndef TPURUN_MODELS_LAYER_STACK_H_
#define TPURUN_MODELS_LAYER_STACK_H_

#include <string>

#include "models/model_context.h"

namespace tpurun {

// Reports a dtype other than FLOAT32 and BFLOAT16. `field` is the name of the dtype's field.
void CheckComputeDType(const std::string& field, proto::DataType dtype, ConfigErrors& errors);

// Builds all layers and declares every layer's result in m.tensors. Mistakes go to m.errors.
void BuildLayers(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYER_STACK_H_
