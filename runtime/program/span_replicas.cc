#include "runtime/program/span_replicas.h"

#include <algorithm>

#include "runtime/program/combine_parts.h"
#include "runtime/program/larger_calls.h"

namespace tpurun {
namespace {

// More rows share the weights, but their states leave the cache.
constexpr int64_t kMostRows = 64;

bool MaySpanMore(const Instruction& instruction) {
  return instruction.per_core && instruction.plan.kernel != nullptr &&
         instruction.plan.kernel->any_share && !instruction.plan.converts_bf16;
}

// What all rows of a call read.
int64_t BytesOfWeights(const Instruction& instruction, int num_replicas) {
  const OpFlags flags = OpFlagsOf(CallOfInstruction(instruction, num_replicas));
  int64_t bytes = 0;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    if (!HasOperand(flags.row_operands, static_cast<int>(i)))
      bytes += instruction.operands[i].shape.bytes();
  }
  return bytes;
}

}  // namespace

bool IsProductOfWeights(const CoreProgram& program, const Instruction& instruction) {
  const KernelPlan& plan = instruction.plan;
  const OpCall call = CallOfInstruction(instruction, program.num_replicas);
  if (plan.kernel == nullptr || !plan.kernel->spans_replicas || plan.converts_bf16 ||
      !HasOperand(OpFlagsOf(call).row_operands, 0))
    return false;
  return std::all_of(instruction.operands.begin() + 1, instruction.operands.end(),
                     [&](const Operand& operand) { return program.IsShared(operand.buffer); });
}

void SpanReplicas(int num_workers, CoreProgram& program, int64_t cached_bytes) {
  LargerCalls larger(program);
  for (Phase* phase : program.Phases()) {
    if (phase->joined()) continue;
    const bool reads_weights = ReadsMostlyWeights(program, *phase);
    for (Instruction& instruction : phase->instructions) {
      if (!MaySpanMore(instruction)) continue;
      const bool spans = instruction.op->flags.spans_replicas ||
                         (reads_weights && IsProductOfWeights(program, instruction));
      if (!spans || BytesOfWeights(instruction, program.num_replicas) <= cached_bytes) continue;
      const int64_t rows = instruction.results[0].shape.dims[0];
      Instruction more = instruction;
      int& replicas = more.replicas_per_call;
      while (more.parts % (2 * replicas) == 0 && more.parts / (2 * replicas) >= num_workers &&
             2 * replicas * rows <= kMostRows) {
        replicas *= 2;
      }
      if (replicas > instruction.replicas_per_call && larger.Plan(more)) instruction = more;
    }
  }
}

}  // namespace tpurun
