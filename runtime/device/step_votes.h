// What the processes of a run tell each other in each step besides its exchanges. All processes
// call these functions in the same order, whatever has happened in their step.
#ifndef TPURUN_RUNTIME_DEVICE_STEP_VOTES_H_
#define TPURUN_RUNTIME_DEVICE_STEP_VOTES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "runtime/fabric/fabric.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// A loss that is NaN or infinite.
struct BadLoss {
  int32_t replica = -1;  // among all replicas of the run; -1: there is none
  float loss = 0;
};

// What a process tells in each step, in bytes: whether it goes on, and its first bad loss.
inline constexpr int64_t kVoteBytes = sizeof(int32_t);
inline constexpr int64_t kBadLossBytes = sizeof(BadLoss);

// OK if all processes go on. Else the first error, in each process.
absl::Status AgreeToGoOn(Fabric& fabric, const absl::Status& own);
// The bad loss of the lowest replica, in each process.
absl::Status ShareBadLoss(Fabric& fabric, BadLoss& bad);
// losses: of this process's replicas, then of all. Unchanged if it is empty.
absl::Status GatherLosses(Fabric& fabric, std::vector<float>& losses);
// Fills the shares of the other processes in the slots of an outfeed entry whose period is due.
absl::Status GatherOutfeed(Fabric& fabric, const CoreProgram& program,
                           const std::function<bool(int64_t period)>& is_due, std::byte* slots);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_STEP_VOTES_H_
