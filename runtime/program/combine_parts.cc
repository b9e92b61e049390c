#include "runtime/program/combine_parts.h"

#include <algorithm>
#include <vector>

namespace tpurun {
namespace {

// Flops and bytes of a phase that is worth a hand-over to another worker: about 50 microseconds.
constexpr double kMuchWork = 4e6;

bool ComputesAnyShare(const Instruction& instruction) {
  const KernelPlan& plan = instruction.plan;
  return plan.kernel != nullptr && !plan.converts_bf16 &&
         (plan.kernel->any_share || instruction.op->flags.elementwise);
}

// How many neighbours become one part.
int Combined(const Phase& phase, int num_workers, int num_replicas) {
  Cost cost;
  for (const Instruction& instruction : phase.instructions) {
    if (instruction.parts == 1) continue;
    if (instruction.per_core || !ComputesAnyShare(instruction)) return 1;
    cost += CostOfInstruction(instruction, num_replicas);
  }
  const int parts = num_workers * (cost.flops() + cost.bytes() > kMuchWork ? 2 : 1);
  return phase.parts() % parts == 0 ? phase.parts() / parts : 1;
}

void CombineParts(int num_workers, int num_replicas, std::vector<Phase>& phases) {
  for (Phase& phase : phases) {
    const int combined = Combined(phase, num_workers, num_replicas);
    // Part p starts at rows * p / parts: every second one of 8 parts starts where one of 4 does.
    for (Instruction& instruction : phase.instructions) {
      if (instruction.parts % combined == 0) instruction.parts /= combined;
    }
  }
}

}  // namespace

void CombineParts(int num_workers, CoreProgram& program) {
  CombineParts(num_workers, program.num_replicas, program.prologue);
  CombineParts(num_workers, program.num_replicas, program.step);
  for (PeriodicSection& section : program.periodic) {
    CombineParts(num_workers, program.num_replicas, section.before);
    CombineParts(num_workers, program.num_replicas, section.after);
  }
}

}  // namespace tpurun
