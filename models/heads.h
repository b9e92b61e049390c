// Heads: one entry of the model that defines a loss, predictions and metrics at once.
#ifndef TPURUN_MODELS_HEADS_H_
#define TPURUN_MODELS_HEADS_H_

#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// One row of the table in heads.cc.
struct HeadDef {
  std::string name;  // the head's field in proto Head's oneof
  void (*build)(ModelContext& m, const proto::Head& head, const ConfigPlace& place);
};

const std::vector<HeadDef>& HeadList();

// Builds the model's `head` entries: adds their losses, predictions, metrics and export outputs to
// `m`. Losses, metrics and predictions that depend on an absent label are left out. Mistakes go to
// m.errors.
void BuildHeads(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_HEADS_H_
