#include "runtime/device/run_profile.h"

#include <algorithm>

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

RunProfile::RunProfile(const CoreProgram& program, int num_workers, int64_t steps)
    : workers_(num_workers) {
  size_t of_step = MostSpans(program.step) + 1;
  for (const PeriodicSection& section : program.periodic)
    of_step += MostSpans(section.before) + MostSpans(section.after);
  for (Worker& worker : workers_)
    worker.spans.reserve(MostSpans(program.prologue) + of_step * static_cast<size_t>(steps));
  waits_.reserve(2 * static_cast<size_t>(steps) + 2);
  step_ticks_.reserve(static_cast<size_t>(steps) + 1);
}

bool RunProfile::complete() const {
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const Worker& worker) { return worker.full; });
}

}  // namespace tpurun
