#include "runtime/ops/shares.h"

#include <algorithm>

namespace tpurun {

std::vector<int64_t> ShareSizes(int64_t units, int64_t parts) {
  std::vector<int64_t> sizes;
  if (units >= parts) sizes.push_back(units / parts);
  if (units % parts != 0) sizes.push_back(units / parts + 1);
  return sizes;
}

KernelPlan PlanOfAll(std::span<const OpCall> calls,
                     const std::function<KernelPlan(const OpCall&)>& plan) {
  KernelPlan of_all;
  for (size_t i = 0; i < calls.size(); ++i) {
    const KernelPlan one = plan(calls[i]);
    if (i > 0 && one.implementation != of_all.implementation) return {};
    of_all.implementation = one.implementation;
    of_all.narrow = one.narrow;
    of_all.scratch_bytes = std::max(of_all.scratch_bytes, one.scratch_bytes);
  }
  return of_all;
}

}  // namespace tpurun
