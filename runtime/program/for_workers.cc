#include "runtime/program/for_workers.h"

#include "runtime/program/combine_parts.h"
#include "runtime/program/join_replicas.h"
#include "runtime/program/span_replicas.h"

namespace tpurun {

void ForWorkers(int num_workers, CoreProgram& program) {
  CombineParts(num_workers, program);
  JoinReplicas(num_workers, program);
  SpanReplicas(num_workers, program);
}

std::optional<CoreProgram> ForOneWorker(const CoreProgram& compiled) {
  Cost cost;
  for (const Phase& phase : compiled.step) {
    for (const Instruction& instruction : phase.instructions)
      cost += CostOfInstruction(instruction, compiled.num_replicas);
  }
  if (IsMuchWork(cost)) return std::nullopt;
  CoreProgram program = compiled;
  ForWorkers(1, program);
  return program;
}

}  // namespace tpurun
