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

// Plans by trying: what the library refuses is left to the reference. `multiply_adds` are of
// kJudgedRows rows where the call is of a batch's rows.
KernelPlan PlanByTrying(const OpCall& call, const Machine& machine, double multiply_adds,
                        const MakeSteps& make);
// nullptr where the library refuses what was planned.
std::unique_ptr<Kernel> MakeByPlan(const OpCall& call, const KernelPlan& plan,
                                   const MakeSteps& make);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_
