// Runs the layers of a ModelSpec in order: names, scopes, inputs and layer_defaults; what each
// layer computes is in layers/.
#ifndef TPURUN_MODELS_LAYER_STACK_H_
#define TPURUN_MODELS_LAYER_STACK_H_

#include "models/model_context.h"

namespace tpurun {

// Reports a model of more layers than are ever meant, every copy counted; nothing is to be built of
// one.
void CheckLayerCount(const proto::ModelSpec& spec, ConfigErrors& errors);

// Appends what of Layer and of each kind is acted on.
void AppendLayerFields(std::vector<ReadFields>& rows);

// Declares every layer's result in m.tensors; mistakes go to m.errors.
void BuildLayers(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYER_STACK_H_
