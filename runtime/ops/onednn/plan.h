// Decides whether the library computes a call, and makes its kernel, for all primitives.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_

#include <functional>
#include <memory>

#include "runtime/ops/onednn/steps.h"

namespace tpurun {

// Makes the steps of a call whose products have bf16 operands, or else f32 operands. Throws
// dnnl::error if the library refuses.
using MakeSteps = std::function<CallSteps(bool bf16)>;

// Makes the steps once to find out whether the library accepts the call. A refused call gets the
// reference kernel. `multiply_adds` is counted for kJudgedRows rows if the call works on the rows
// of a batch, else for the whole call.
KernelPlan PlanByTrying(const OpCall& call, const Machine& machine, double multiply_adds,
                        const MakeSteps& make);
// The kernel of a plan, or nullptr if the library now refuses it.
std::unique_ptr<Kernel> MakeByPlan(const OpCall& call, const KernelPlan& plan,
                                   const MakeSteps& make);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_
