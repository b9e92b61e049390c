// The shares of a call that is partitioned, for kernels that depend on the size of a share.
#ifndef TPURUN_RUNTIME_OPS_SHARES_H_
#define TPURUN_RUNTIME_OPS_SHARES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// The distinct numbers of units of the call's parts, for all replicas of a call, in rising order.
// Empty shares are omitted.
std::vector<int64_t> ShareSizes(const OpCall& call);

// One offer for all of `calls`, which differ only in the sizes of their shares, or nullopt if there
// are no calls or `offer` has none for one of them. It has the largest scratch memory and prefers
// no layout.
std::optional<KernelOffer> OfferForAll(
    std::span<const OpCall> calls,
    const std::function<std::optional<KernelOffer>(const OpCall& call)>& offer);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_SHARES_H_
