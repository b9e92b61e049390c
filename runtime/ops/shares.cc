#include "runtime/ops/shares.h"

#include <algorithm>
#include <set>

namespace tpurun {

std::vector<int64_t> ShareSizes(const OpCall& call) {
  std::set<int64_t> sizes;
  for (int part = 0; part < call.parts; ++part)
    sizes.insert(call.replicas_per_call * (BeginOfPart(call, part + 1) - BeginOfPart(call, part)));
  sizes.erase(0);
  return {sizes.begin(), sizes.end()};
}

KernelPlan PlanOfAll(std::span<const OpCall> calls,
                     const std::function<KernelPlan(const OpCall&)>& plan) {
  KernelPlan of_all;
  for (size_t i = 0; i < calls.size(); ++i) {
    const KernelPlan one = plan(calls[i]);
    if (i > 0 && one.implementation != of_all.implementation) return {};
    of_all.implementation = one.implementation;
    of_all.native_bf16 = one.native_bf16;
    of_all.scratch_bytes = std::max(of_all.scratch_bytes, one.scratch_bytes);
    of_all.copied_bytes = std::max(of_all.copied_bytes, one.copied_bytes);
    of_all.library_kernel = one.library_kernel;
  }
  return of_all;
}

}  // namespace tpurun
