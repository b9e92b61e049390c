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

std::optional<KernelOffer> OfferForAll(
    std::span<const OpCall> calls,
    const std::function<std::optional<KernelOffer>(const OpCall& call)>& offer) {
  if (calls.empty()) return std::nullopt;
  KernelOffer for_all;
  for (const OpCall& call : calls) {
    const std::optional<KernelOffer> one = offer(call);
    if (!one) return std::nullopt;
    for_all.native_bf16 = one->native_bf16;
    for_all.scratch_bytes = std::max(for_all.scratch_bytes, one->scratch_bytes);
    for_all.copied_bytes = std::max(for_all.copied_bytes, one->copied_bytes);
    for_all.library_kernel = one->library_kernel;
  }
  return for_all;
}

}  // namespace tpurun
