// Whether the library computes a call, and its kernel: the same for all of its primitives.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_

#include <functional>
#include <memory>

#include "runtime/ops/onednn/steps.h"

namespace tpurun {

// The steps of a call whose products take bf16 operands, or f32 ones. Throws dnnl::error where the
// library refuses.
using MakeSteps = std::function<CallSteps(bool bf16)>;

// Makes the steps once to learn whether the library takes the call; one that it refuses is planned
// for the reference kernel. `multiply_adds`: those of kJudgedRows rows for a call on a batch's
// rows, else those of the whole call.
KernelPlan PlanByTrying(const OpCall& call, const Machine& machine, double multiply_adds,
                        const MakeSteps& make);
// The kernel of a plan. nullptr where the library now refuses it.
std::unique_ptr<Kernel> MakeByPlan(const OpCall& call, const KernelPlan& plan,
                                   const MakeSteps& make);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_
