// The terms of the loss that keep variables small.
#ifndef TPURUN_MODELS_REGULARIZATION_H_
#define TPURUN_MODELS_REGULARIZATION_H_

#include <vector>

#include "models/model_context.h"

namespace tpurun {

// Returns scale * sum(v^2) / 2 of each row of each trainable variable that is not excluded:
// f32[rows] per variable. Empty if the model has no regularization. Reports mistakes of the
// `regularization` entry. Must be called when all variables are in the graph.
std::vector<Value> RegularizationLosses(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_REGULARIZATION_H_
