// The model's `summary` entries.
#ifndef TPURUN_MODELS_SUMMARIES_H_
#define TPURUN_MODELS_SUMMARIES_H_

#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// Whether a summary is of what has that name.
bool IsSummarized(const proto::ModelSpec& spec, const std::string& name);

// TRAIN only, after everything else of the model: fills spec.summaries and spec.embeddings, whose
// optimizers are there. What is reported is left out.
void BuildSummaries(ModelContext& m, EstimatorSpec& spec);

}  // namespace tpurun

#endif  // TPURUN_MODELS_SUMMARIES_H_
