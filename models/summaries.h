// Turns the model's `summary` entries into the summaries of a training.
#ifndef TPURUN_MODELS_SUMMARIES_H_
#define TPURUN_MODELS_SUMMARIES_H_

#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// True if an entry of `summary` reads the value of this name.
bool IsSummarized(const proto::ModelSpec& spec, const std::string& name);

// TRAIN only. Fills spec.summaries and spec.embeddings: the model's entries, then a scalar for each
// of `losses` whose name no entry has. Must be called last: it reads all variables and losses of
// the model and spec.optimizers. Entries with mistakes are reported and left out.
void BuildSummaries(ModelContext& m, const std::vector<NamedValue>& losses, EstimatorSpec& spec);

}  // namespace tpurun

#endif  // TPURUN_MODELS_SUMMARIES_H_
