#include "runtime/ir/op_def.h"

#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"

namespace tpurun {

Machine Machine::This() {
  __builtin_cpu_init();
  Machine machine;
  machine.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  machine.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  machine.avx512_bf16 = machine.avx512 && __builtin_cpu_supports("avx512bf16");
  return machine;
}

std::optional<Machine> Machine::Parse(std::string_view name) {
  for (const Machine& machine :
       {Machine{}, Machine{true}, Machine{true, true}, Machine{true, true, true}}) {
    if (machine.ToString() == name) return machine;
  }
  return std::nullopt;
}

std::string Machine::ToString() const {
  if (avx512_bf16) return "x86_64+avx512_bf16";
  if (avx512) return "x86_64+avx512";
  if (avx2) return "x86_64+avx2";
  return "x86_64";
}

int CopiesPerOperand(const OpCall& call) {
  return call.op->flags.collective ? call.num_replicas : 1;
}

absl::StatusOr<Attrs> TypedAttrs(const OpDef& op, Attrs attrs) {
  for (const AttrDef& def : op.attrs) {
    const auto found = attrs.values().find(def.name);
    if (found == attrs.values().end()) continue;
    const auto* text = std::get_if<std::string>(&found->second);
    const auto* ints = std::get_if<std::vector<int64_t>>(&found->second);
    if (text != nullptr && def.read) {
      ASSIGN_OR_RETURN(AttrValue value, def.read(*text));
      attrs.Set(def.name, std::move(value));
    } else if (ints != nullptr && ints->empty() &&
               std::holds_alternative<std::vector<double>>(def.example)) {
      attrs.Set(def.name, std::vector<double>{});
    }
  }
  return attrs;
}

OpFlags FlagsOf(const OpCall& call) {
  // A call has as many operands as its op.
  TPURUN_DCHECK(static_cast<int>(call.operands.size()) >= call.op->min_operands);
  TPURUN_DCHECK(call.op->max_operands < 0 ||
                static_cast<int>(call.operands.size()) <= call.op->max_operands);
  OpFlags flags = call.op->flags;
  if (call.op->refine_flags) call.op->refine_flags(call, flags);
  return flags;
}

int64_t Units(const OpCall& call) {
  switch (FlagsOf(call).unit) {
    case WorkUnit::kElements:
      return call.results[0].num_elements();
    case WorkUnit::kRows:
      return call.results[0].rank() == 0 ? 1 : call.results[0].dims[0];
    case WorkUnit::kColumns:
      return call.results[0].dims.back();
    case WorkUnit::kWhole:
      return 1;
  }
  return 1;
}

int64_t BeginOfPart(const OpCall& call, int part) {
  const int64_t units = Units(call);
  if (part == call.parts) return units;
  const int64_t rows = call.rows > 0 ? call.rows : units;
  return rows == 0 ? 0 : rows * part / call.parts * (units / rows);
}

KernelPlan PlanKernel(const OpCall& call, const Machine& machine) {
  KernelPlan plan = call.op->plan ? call.op->plan(call, machine) : KernelPlan{};
  // A plan speaks of all operands or of none.
  TPURUN_DCHECK(plan.best_operands.empty() || plan.best_operands.size() == call.operands.size());
  TPURUN_DCHECK(plan.scratch_bytes >= 0);
  return plan;
}

std::unique_ptr<Kernel> MakeKernel(const OpCall& call, const KernelPlan& plan) {
  return call.op->make_kernel ? call.op->make_kernel(call, plan) : call.op->reference(call);
}

double Flops(const OpCall& call) {
  if (call.op->flops) return call.op->flops(call);
  double elements = 0;
  for (const Shape& shape : call.results) elements += static_cast<double>(shape.num_elements());
  return elements;
}

}  // namespace tpurun
