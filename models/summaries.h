// The model's `summary` entries.
#ifndef TPURUN_MODELS_SUMMARIES_H_
#define TPURUN_MODELS_SUMMARIES_H_

#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// Whether a summary is of what has that name.
bool IsSummarized(const proto::ModelSpec& spec, const std::string& name);

// TRAIN only, after everything else of the model. A summary is of a tensor, a variable, a gradient
// ("gradients/VARIABLE"), "learning_rate" ("learning_rate/OPTIMIZER" of several), "global_norm" or
// a head's metric; what is reported is left out.
std::vector<TrainSummary> BuildSummaries(ModelContext& m,
                                         const std::vector<OptimizerSpec>& optimizers);

}  // namespace tpurun

#endif  // TPURUN_MODELS_SUMMARIES_H_
