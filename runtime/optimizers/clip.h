// Clips gradients according to the clip_by_* fields of an optimizer.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_CLIP_H_
#define TPURUN_RUNTIME_OPTIMIZERS_CLIP_H_

#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/optimizers/optimizers.h"

namespace tpurun {

// A row of clip.cc's table.
struct ClipDef {
  std::string field;  // field of proto Optimizer: a float, the largest value or norm
  void (*clip)(GraphBuilder& b, Value most, std::vector<VariableGradient>& gradients);
};

// In the order in which they are applied.
const std::vector<ClipDef>& ClipList();

// Clips the gradients by every clip_by_* field that is set.
void ClipGradients(GraphBuilder& b, const proto::Optimizer& optimizer,
                   std::vector<VariableGradient>& gradients);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_CLIP_H_
