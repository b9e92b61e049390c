// The checkpoint periods of a RunConfig.
#ifndef TPURUN_RUNTIME_SPEC_SAVE_PERIODS_H_
#define TPURUN_RUNTIME_SPEC_SAVE_PERIODS_H_

#include <cstdint>

#include "proto/run_config.pb.h"

namespace tpurun {

// A period of 0 means that checkpoints are not saved by that unit.
struct SavePeriods {
  int64_t steps = 0;
  int64_t seconds = 0;

  bool any() const { return steps > 0 || seconds > 0; }
};

inline SavePeriods SavePeriodsOf(const proto::RunConfig& run) {
  const bool by_steps = run.has_save_checkpoints_steps();
  const bool by_seconds = run.has_save_checkpoints_secs() || !by_steps;
  return {.steps = by_steps ? run.save_checkpoints_steps() : 0,
          .seconds = by_seconds ? run.save_checkpoints_secs() : 0};
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_SAVE_PERIODS_H_
