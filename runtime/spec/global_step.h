// The variable that counts the training steps. The training step increments it, and layers that
// draw random numbers read it.
#ifndef TPURUN_RUNTIME_SPEC_GLOBAL_STEP_H_
#define TPURUN_RUNTIME_SPEC_GLOBAL_STEP_H_

#include "runtime/ir/graph_builder.h"

namespace tpurun {

inline constexpr char kGlobalStep[] = "global_step";

// The index of the variable global_step, s64[], which is 0 before the first step. Adds the variable
// if the graph has none yet.
inline int GlobalStep(GraphBuilder& b) {
  const int found = b.graph().FindVariable(kGlobalStep);
  if (found >= 0) return found;
  return b.AddVariable({.name = kGlobalStep, .shape = {DType::kS64, {}}, .trainable = false});
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_GLOBAL_STEP_H_
