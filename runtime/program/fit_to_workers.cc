#include "runtime/program/fit_to_workers.h"

#include "runtime/program/combine_parts.h"
#include "runtime/program/join_replicas.h"
#include "runtime/program/span_replicas.h"

namespace tpurun {

void FitToWorkers(int num_workers, CoreProgram& program) {
  CombineParts(num_workers, program);
  JoinReplicas(num_workers, program);
  SpanReplicas(num_workers, program);
}

std::optional<CoreProgram> FitToOneWorker(const CoreProgram& compiled) {
  for (const PeriodicSection& section : compiled.periodic)
    if (section.period == 1) return std::nullopt;
  Cost cost;
  for (const Phase& phase : compiled.step) {
    for (const Instruction& instruction : phase.instructions)
      cost += CostOfInstruction(instruction, compiled.num_replicas);
  }
  if (IsMuchWork(cost)) return std::nullopt;
  CoreProgram program = compiled;
  FitToWorkers(1, program);
  return program;
}

}  // namespace tpurun
