// PhaseSchedule: the order of the phases of a run.
#ifndef TPURUN_RUNTIME_DEVICE_PHASE_SCHEDULE_H_
#define TPURUN_RUNTIME_DEVICE_PHASE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/device/loaded_program.h"

namespace tpurun {

struct ScheduledPhase {
  enum Kind { kOfStep, kPeriodic, kOther };
  const LoadedPhase* phase = nullptr;
  Kind kind = kOther;
  int index = 0;  // in its section
};

// The phases of the prologue or of one step, and the current one. The program must outlive it.
class PhaseSchedule {
 public:
  // Begins a run without a prologue. Its steps are numbered from `first_step`, but every n-th step
  // is counted from its first.
  void BeginRun(const LoadedProgram& program, int64_t first_step, int64_t host_call_every_n_steps);
  void BeginPrologue();
  // Step `index` of the run. `alone`: for one worker, unless it has periodic sections.
  void BeginStep(int64_t index, bool alone = false);

  // Whether step `index` of the run is an n-th step and its number a multiple of `period`.
  bool IsDue(int64_t period, int64_t index) const;
  // Whether step `index` has periodic sections.
  bool HasPeriodic(int64_t index) const;

  bool in_step() const { return in_step_; }  // not in the prologue
  // Whether the current step is one for one worker.
  bool alone() const { return alone_; }
  bool ended() const { return position_ == phases_.size(); }
  // Unless it has ended.
  const ScheduledPhase& current() const { return phases_[position_]; }
  void Next() { ++position_; }

 private:
  const LoadedProgram* program_ = nullptr;
  int64_t first_step_ = 0, host_call_every_n_steps_ = 1;
  bool in_step_ = false, alone_ = false;
  // Of a step without periodic sections, for all workers and for one.
  std::vector<ScheduledPhase> of_step_, of_step_alone_;
  std::vector<ScheduledPhase> others_;  // of the prologue, or of a step with them
  std::span<const ScheduledPhase> phases_;
  size_t position_ = 0;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_PHASE_SCHEDULE_H_
