#include "runtime/device/phase_schedule.h"

#include <algorithm>

namespace tpurun {
namespace {

void AddPhases(const std::vector<LoadedPhase>& phases, ScheduledPhase::Kind kind,
               std::vector<ScheduledPhase>& schedule) {
  for (size_t i = 0; i < phases.size(); ++i)
    schedule.push_back({.phase = &phases[i], .kind = kind, .index = static_cast<int>(i)});
}

}  // namespace

void PhaseSchedule::BeginRun(const LoadedProgram& program, int64_t first_step,
                             int64_t host_call_every_n_steps) {
  program_ = &program;
  first_step_ = first_step;
  host_call_every_n_steps_ = host_call_every_n_steps;
  in_step_ = alone_ = false;
  of_step_.clear();
  AddPhases(program.step, ScheduledPhase::kOfStep, of_step_);
  of_step_alone_.clear();
  AddPhases(program.step_alone, ScheduledPhase::kOfStep, of_step_alone_);
  phases_ = {};
  position_ = 0;
}

void PhaseSchedule::BeginPrologue() {
  others_.clear();
  AddPhases(program_->prologue, ScheduledPhase::kOther, others_);
  phases_ = others_;
  position_ = 0;
}

void PhaseSchedule::BeginStep(int64_t index, bool alone) {
  in_step_ = true;
  position_ = 0;
  const bool has_periodic = HasPeriodic(index);
  alone_ = alone && !has_periodic;
  phases_ = alone_ ? of_step_alone_ : of_step_;
  if (!has_periodic) return;
  others_.clear();
  for (const LoadedPeriodicSection& section : program_->periodic)
    if (IsDue(section.period, index)) AddPhases(section.before, ScheduledPhase::kPeriodic, others_);
  others_.insert(others_.end(), of_step_.begin(), of_step_.end());
  for (const LoadedPeriodicSection& section : program_->periodic)
    if (IsDue(section.period, index)) AddPhases(section.after, ScheduledPhase::kPeriodic, others_);
  phases_ = others_;
}

bool PhaseSchedule::IsDue(int64_t period, int64_t index) const {
  return index % host_call_every_n_steps_ == 0 && (first_step_ + index) % period == 0;
}

bool PhaseSchedule::HasPeriodic(int64_t index) const {
  return std::any_of(
      program_->periodic.begin(), program_->periodic.end(),
      [&](const LoadedPeriodicSection& section) { return IsDue(section.period, index); });
}

}  // namespace tpurun
