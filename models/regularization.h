// The term of the loss that keeps variables small.
#ifndef TPURUN_MODELS_REGULARIZATION_H_
#define TPURUN_MODELS_REGULARIZATION_H_

#include "models/model_context.h"

namespace tpurun {

// scale * sum(v^2) / 2 over the trainable variables that are not excluded, f32[]; invalid where the
// model has no regularization. Reports what is wrong with it. Every variable is there.
Value RegularizationLoss(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_REGULARIZATION_H_
