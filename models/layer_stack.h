// Runs the layers of a ModelSpec in order: names, scopes, inputs and layer_defaults; what each
// layer computes is in layers/.
#ifndef TPURUN_MODELS_LAYER_STACK_H_
#define TPURUN_MODELS_LAYER_STACK_H_

#include <string>

#include "models/model_context.h"

namespace tpurun {

// Reports a dtype that no layer computes in.
void CheckComputeDType(const std::string& field, proto::DataType dtype, ConfigErrors& errors);

// Declares every layer's result in m.tensors; mistakes go to m.errors.
void BuildLayers(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYER_STACK_H_
