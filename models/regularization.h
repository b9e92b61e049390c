// The terms of the loss that keep variables small.
#ifndef TPURUN_MODELS_REGULARIZATION_H_
#define TPURUN_MODELS_REGULARIZATION_H_

#include <vector>

#include "models/model_context.h"

namespace tpurun {

// Of each trainable variable that is not excluded, scale * sum(v^2) / 2 of its rows, f32[rows];
// none where the model has no regularization. Reports what is wrong with it. Every variable is
// there.
std::vector<Value> RegularizationLosses(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_REGULARIZATION_H_
