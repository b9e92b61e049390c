// The shares of a call that is cut into parts, where the kernel differs with the size of a share.
#ifndef TPURUN_RUNTIME_OPS_SHARES_H_
#define TPURUN_RUNTIME_OPS_SHARES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// How many units the parts of a call have: each number once, rising. Empty shares are left out.
std::vector<int64_t> ShareSizes(const OpCall& call);

// One plan for all of `calls`, which differ in the sizes of their shares alone: the implementation
// that plan(call) gives each of them, with the most scratch memory; the reference if they differ.
// It likes no layout best and takes no bias.
KernelPlan PlanOfAll(std::span<const OpCall> calls,
                     const std::function<KernelPlan(const OpCall&)>& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_SHARES_H_
