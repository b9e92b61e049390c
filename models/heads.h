// Heads: loss, predictions and metrics at once.
#ifndef TPURUN_MODELS_HEADS_H_
#define TPURUN_MODELS_HEADS_H_

#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// One row of the table in heads.cc.
struct HeadDef {
  std::string name;  // of its field in proto Head's oneof
  void (*build)(ModelContext& m, const proto::Head& head, const ConfigPlace& place);
};

const std::vector<HeadDef>& HeadList();

// The model's `head` entries. What depends on an absent label is left out.
void BuildHeads(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_HEADS_H_
