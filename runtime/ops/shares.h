// The shares of a call that is partitioned, for kernels that depend on the size of a share.
#ifndef TPURUN_RUNTIME_OPS_SHARES_H_
#define TPURUN_RUNTIME_OPS_SHARES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// The distinct numbers of units of the call's parts, for all replicas of a call, in rising order.
// Empty shares are omitted.
std::vector<int64_t> ShareSizes(const OpCall& call);

// One plan for all of `calls`, which differ only in the sizes of their shares. It has the
// implementation that plan(call) returns for each of them and the largest scratch memory, or is the
// reference if the implementations differ. It prefers no layout and takes no bias.
KernelPlan PlanOfAll(std::span<const OpCall> calls,
                     const std::function<KernelPlan(const OpCall&)>& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_SHARES_H_
