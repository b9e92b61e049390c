#include "runtime/program/larger_calls.h"

#include <algorithm>
#include <optional>

#include "runtime/base/dcheck.h"

namespace tpurun {

Machine MachineOf(const CoreProgram& program) {
  const std::optional<Machine> machine = Machine::Parse(program.machine);
  TPURUN_DCHECK(machine.has_value());
  return *machine;
}

LargerCalls::LargerCalls(CoreProgram& program)
    : program_(program), machine_(MachineOf(program)), scratch_(Aligned(program.worker_bytes)) {}

bool LargerCalls::Plan(Instruction& instruction) {
  KernelPlan& plan = instruction.plan;
  if (!plan.kernel->offer) return true;
  const OpCall call = CallOfInstruction(instruction, program_.num_replicas);
  const std::optional<KernelOffer> offer = plan.kernel->offer(call, machine_);
  if (!offer.has_value()) return false;
  plan.copied_bytes = offer->copied_bytes;
  if (offer->scratch_bytes <= plan.scratch_bytes) return true;
  plan.scratch_bytes = offer->scratch_bytes;
  instruction.scratch = {.space = Space::kWorker, .offset = scratch_};
  program_.worker_bytes = std::max(program_.worker_bytes, scratch_ + Aligned(offer->scratch_bytes));
  return true;
}

}  // namespace tpurun
