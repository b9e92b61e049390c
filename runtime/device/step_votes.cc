#include "runtime/device/step_votes.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"

namespace tpurun {

absl::Status AgreeToGoOn(Fabric& fabric, const absl::Status& own) {
  const auto code = static_cast<int32_t>(own.code());
  std::vector<int32_t> codes(fabric.size());
  RETURN_IF_ERROR(fabric.AllGather(&code, kVoteBytes, codes.data()));
  const bool all_go_on = std::all_of(codes.begin(), codes.end(), [](int32_t c) { return c == 0; });
  return all_go_on ? absl::OkStatus() : fabric.FirstError(own);
}

absl::Status ShareBadLoss(Fabric& fabric, BadLoss& bad) {
  std::vector<BadLoss> all(fabric.size());
  RETURN_IF_ERROR(fabric.AllGather(&bad, kBadLossBytes, all.data()));
  const auto first =
      std::find_if(all.begin(), all.end(), [](const BadLoss& of) { return of.replica >= 0; });
  if (first != all.end()) bad = *first;
  return absl::OkStatus();
}

absl::Status GatherLosses(Fabric& fabric, std::vector<float>& losses) {
  if (losses.empty()) return absl::OkStatus();
  std::vector<float> all(losses.size() * fabric.size());
  const auto bytes = static_cast<int64_t>(losses.size() * sizeof(float));
  RETURN_IF_ERROR(fabric.AllGather(losses.data(), bytes, all.data()));
  losses = std::move(all);
  return absl::OkStatus();
}

absl::Status GatherOutfeed(Fabric& fabric, const CoreProgram& program,
                           const std::function<bool(int64_t period)>& is_due, std::byte* slots) {
  const SlotLayout layout = LayoutOf(program.outfeed, program.outfeed_replicas());
  for (size_t slot = 0; slot < program.outfeed.size(); ++slot) {
    if (!is_due(program.outfeed[slot].period)) continue;
    std::byte* const all = slots + layout.offsets[slot];
    const int64_t bytes = layout.replica_bytes[slot];
    RETURN_IF_ERROR(
        fabric.AllGather(all + program.first_replica * bytes, program.num_replicas * bytes, all));
  }
  return absl::OkStatus();
}

}  // namespace tpurun
