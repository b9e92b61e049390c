// Decides which optimizer updates which variable.
#ifndef TPURUN_MODELS_OPTIMIZER_CHOICE_H_
#define TPURUN_MODELS_OPTIMIZER_CHOICE_H_

#include <vector>

#include "models/model_context.h"

namespace tpurun {

// Checks the fields of every optimizer and the expressions of `frozen`. Needs no graph.
void CheckOptimizers(ModelContext& m);

// TRAIN: assigns each trainable variable to the one optimizer whose var_list matches it; an empty
// var_list matches every variable. Reports a variable that two optimizers match or none, and an
// expression that matches no variable. `total` is the sum of all losses and of `regularization`,
// which an optimizer with a loss of its own minimizes too.
std::vector<OptimizerSpec> ChooseOptimizers(ModelContext& m, Value total,
                                            const std::vector<Value>& regularization);

}  // namespace tpurun

#endif  // TPURUN_MODELS_OPTIMIZER_CHOICE_H_
