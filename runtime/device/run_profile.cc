#include "runtime/device/run_profile.h"

#include <algorithm>
#include <chrono>

namespace tpurun {
namespace {

// The number of spans of a worker that runs every part of the phases.
size_t MostSpans(const std::vector<Phase>& phases) {
  size_t spans = 0;
  for (const Phase& phase : phases) {
    // Each part may wait at a rendezvous.
    for (const Instruction& instruction : phase.instructions) spans += 2 * instruction.parts;
    ++spans;  // the barrier
  }
  return spans;
}

}  // namespace

RunProfile::RunProfile(const CoreProgram& program, int num_workers, int64_t steps,
                       int64_t first_index)
    : workers_(num_workers), first_index_(first_index), steps_(steps) {
  size_t of_step = MostSpans(program.step) + 1;
  for (const PeriodicSection& section : program.periodic)
    of_step += MostSpans(section.before) + MostSpans(section.after);
  const size_t spans = 1 + MostSpans(program.prologue) + of_step * static_cast<size_t>(steps);
  for (Worker& worker : workers_) {
    worker.spans.resize(spans);  // touched now, so that no step waits for the memory
    worker.spans.clear();
  }
  waits_.reserve(2 * static_cast<size_t>(steps) + 2);
  step_ticks_.reserve(static_cast<size_t>(steps) + 1);
}

void RunProfile::Begin() {
  begin_ = TickMark::Now();
  for (Worker& worker : workers_) worker.end = begin_.ticks;
  begin_ns_ = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

void RunProfile::AddStepTick(int64_t index, int64_t ticks) {
  const int64_t ended = index - first_index_;
  if (ended < 0 || ended > steps_) return;
  step_ticks_.push_back(ticks);
  if (ended == 0) from_ = ticks;
  if (ended == steps_) to_ = ticks;
}

int64_t RunProfile::StepNanoseconds(size_t i) const {
  const auto ticks = static_cast<double>(step_ticks_[i] - begin_.ticks);
  return begin_ns_ + static_cast<int64_t>(ticks * seconds_per_tick() * 1e9);
}

bool RunProfile::complete() const {
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const Worker& worker) { return worker.full; });
}

}  // namespace tpurun
