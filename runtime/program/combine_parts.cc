#include "runtime/program/combine_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/program/larger_calls.h"

namespace tpurun {
namespace {

bool ComputesAnyShare(const Instruction& instruction) {
  const KernelPlan& plan = instruction.plan;
  return plan.kernel != nullptr && !plan.converts_bf16 &&
         (plan.kernel->any_share || instruction.op->flags.elementwise);
}

// How many neighbours become one part.
int Combined(const CoreProgram& program, const Phase& phase, int num_workers) {
  Cost cost;
  bool wants_rows = ReadsMostlyWeights(program, phase);
  for (const Instruction& instruction : phase.instructions) {
    if (instruction.parts == 1) continue;
    if (instruction.per_core || !ComputesAnyShare(instruction)) return 1;
    cost += CostOfInstruction(instruction, program.num_replicas);
    wants_rows = wants_rows || instruction.op->flags.spans_replicas;
  }
  const int parts = wants_rows ? num_workers : PartsWanted(cost, num_workers);
  return phase.parts() % parts == 0 ? phase.parts() / parts : 1;
}

// The new number of parts of an instruction that has `parts`, perhaps fewer than its phase. Of a
// power of 2, whole parts become one: equal shares of other rows stay equal (SamePartOf).
int FewerParts(int parts, int combined, int num_workers) {
  const int fewer = std::max(parts / combined, std::min(parts, num_workers));
  return HasEqualParts(parts) && parts % fewer != 0 ? parts : fewer;
}

// nullopt if a kernel cannot compute such parts.
std::optional<Phase> Combine(const Phase& phase, int combined, int num_workers,
                             LargerCalls& larger) {
  Phase result = phase;
  for (Instruction& instruction : result.instructions) {
    instruction.first_part /= combined;
    instruction.part_step = 1;
    const int parts = FewerParts(instruction.parts, combined, num_workers);
    if (parts == instruction.parts) continue;
    instruction.parts = parts;
    if (!larger.Plan(instruction)) return std::nullopt;
  }
  return result;
}

// Spreads the parts of instructions that have fewer than their phase: neighbouring parts of a phase
// are those of one worker.
void Spread(Phase& phase) {
  const int parts = phase.parts();
  for (Instruction& instruction : phase.instructions) {
    if (!instruction.per_core && instruction.parts > 1)
      instruction.part_step = parts / instruction.parts;
  }
}

}  // namespace

bool ReadsMostlyWeights(const CoreProgram& program, const Phase& phase) {
  constexpr int64_t kLeastWeights = int64_t{4} << 20;  // bytes; fewer may stay in an L2 cache
  int64_t weights = 0, rows = 0;
  for (const Instruction& instruction : phase.instructions) {
    const OpCall call = CallOfInstruction(instruction, program.num_replicas);
    const int64_t calls = instruction.per_core ? program.num_replicas : 1;
    const bool is_collective = instruction.op->flags.collective;  // has copies of each operand
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const auto& [buffer, shape] = instruction.operands[i];
      bool is_whole = false;
      if (instruction.per_core) {
        is_whole = program.IsShared(buffer);
      } else if (instruction.parts > 1 && !is_collective) {
        is_whole = !ReadsOwnRows(call, static_cast<int>(i), instruction.rows);
      }
      (is_whole ? weights : rows) += (is_whole ? 1 : calls) * shape.bytes();
    }
    for (const Operand& result : instruction.results) rows += calls * result.shape.bytes();
  }
  return weights >= kLeastWeights && weights > rows;
}

bool IsMuchWork(const Cost& cost) {
  // Flops and bytes: 50 microseconds at 80 of either in a nanosecond.
  constexpr double kMuchWork = 4e6;
  return cost.flops() + cost.bytes() > kMuchWork;
}

int PartsWanted(const Cost& cost, int num_workers) {
  return num_workers * (num_workers > 1 && IsMuchWork(cost) ? 2 : 1);
}

void CombineParts(int num_workers, CoreProgram& program) {
  LargerCalls larger(program);
  for (Phase* phase : program.Phases()) {
    const int combined = Combined(program, *phase, num_workers);
    if (combined > 1) {
      std::optional<Phase> fewer = Combine(*phase, combined, num_workers, larger);
      if (fewer) *phase = *std::move(fewer);
    }
    Spread(*phase);
  }
}

}  // namespace tpurun
