#include "runtime/ir/op_def.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/instruction_sets.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/bf16_conversion.h"

namespace tpurun {
namespace {

std::vector<std::string> AttrNames(const OpDef& op) {
  std::vector<std::string> names;
  for (const AttrDef& attr : op.attrs) names.push_back(attr.name);
  return names;
}

// The attribute that every op with f32 values has.
const AttrDef& StoredIn() {
  static const AttrDef& def = *new AttrDef{kStoredIn, DType::kF32};
  return def;
}

absl::Status CheckAttrs(const OpDef& op, const Attrs& attrs) {
  for (const auto& [name, value] : attrs.values()) {
    const AttrDef* def = nullptr;
    for (const AttrDef& attr : op.attrs) {
      if (attr.name == name) def = &attr;
    }
    if (def == nullptr && name == kStoredIn && !op.flags.any_dtype && !op.flags.source) {
      def = &StoredIn();
    }
    if (def == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(op.name, " has no attribute \"", name, "\"",
                                                     DidYouMean(name, AttrNames(op))));
    }
    if (value.index() != def->example.index()) {
      return absl::InvalidArgumentError(absl::StrCat(
          op.name, ": attribute ", name, " has the wrong type, want one like ",
          Attrs{{name, def->example}}.ToString(), ", got ", Attrs{{name, value}}.ToString()));
    }
  }
  for (const AttrDef& def : op.attrs) {
    if (def.required && !attrs.Has(def.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(op.name, ": attribute ", def.name, " is missing"));
    }
  }
  return absl::OkStatus();
}

// True if the op has f32 values and an operand or result 0 is bf16.
bool Converts(const OpCall& call) {
  return !call.op->flags.any_dtype && !call.op->flags.source && HasBF16(call);
}

}  // namespace

Machine Machine::This() {
  const InstructionSets sets = InstructionSets::OfThisProcessor();
  return {.avx2 = sets.avx2, .avx512 = sets.avx512, .avx512_bf16 = sets.avx512_bf16};
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

absl::StatusOr<std::vector<Shape>> InferShapes(const OpDef& op, std::span<const Shape> operands,
                                               const Attrs& attrs) {
  const int count = static_cast<int>(operands.size());
  if (count < op.min_operands || (op.max_operands >= 0 && count > op.max_operands)) {
    return absl::InvalidArgumentError(absl::StrCat(op.name, ": want ", op.min_operands,
                                                   op.max_operands < 0 ? " or more"
                                                   : op.max_operands == op.min_operands
                                                       ? ""
                                                       : absl::StrCat(" to ", op.max_operands),
                                                   " operands, got ", count));
  }
  RETURN_IF_ERROR(CheckAttrs(op, attrs));
  if (op.flags.any_dtype || op.flags.source) return op.infer_shape(operands, attrs);
  std::vector<Shape> f32(operands.begin(), operands.end());
  for (Shape& shape : f32) {
    if (shape.dtype == DType::kBF16) shape.dtype = DType::kF32;
  }
  ASSIGN_OR_RETURN(std::vector<Shape> results, op.infer_shape(f32, attrs));
  const DType stored = attrs.Get<DType>(kStoredIn, DType::kF32);
  if (stored == DType::kF32) return results;
  if (stored != DType::kBF16 || results[0].dtype != DType::kF32) {
    return absl::InvalidArgumentError(absl::StrCat(op.name, ": out stores f32 as f32 or bf16, got ",
                                                   results[0].ToString(), " as ",
                                                   std::string(Name(stored))));
  }
  results[0].dtype = stored;
  return results;
}

OpFlags OpFlagsOf(const OpCall& call) {
  // A call has at least the minimum number of operands of its op.
  TPURUN_DCHECK(static_cast<int>(call.operands.size()) >= call.op->min_operands);
  TPURUN_DCHECK(call.op->max_operands < 0 ||
                static_cast<int>(call.operands.size()) <= call.op->max_operands);
  OpFlags flags = call.op->flags;
  if (call.op->refine_flags) call.op->refine_flags(call, flags);
  return flags;
}

int64_t Units(const OpCall& call) {
  switch (OpFlagsOf(call).unit) {
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
  const auto ask = [&](const OpCall& asked) {
    return asked.op->plan ? asked.op->plan(asked, machine) : KernelPlan{};
  };
  KernelPlan plan = ask(call);
  if (Converts(call) && !plan.native_bf16) {
    plan = ask(InF32(call));
    plan.native_bf16 = false;
    plan.converts_bf16 = true;
    plan.scratch_bytes += ConversionBytes(call);
    plan.copied_bytes += ConvertedBytes(call);
    for (size_t i = 0; i < plan.best_operands.size(); ++i) {
      if (call.operands[i].dtype == DType::kBF16) plan.best_operands[i] = call.operands[i];
    }
  }
  // best_operands is empty or has an entry for each operand.
  TPURUN_DCHECK(plan.best_operands.empty() || plan.best_operands.size() == call.operands.size());
  TPURUN_DCHECK(plan.scratch_bytes >= 0);
  return plan;
}

std::unique_ptr<Kernel> MakeKernel(const OpCall& call, const KernelPlan& plan) {
  if (plan.converts_bf16) {
    KernelPlan inside = plan;
    inside.converts_bf16 = false;
    std::unique_ptr<Kernel> f32 = MakeKernel(InF32(call), inside);
    return f32 == nullptr ? nullptr : WithConversions(call, std::move(f32));
  }
  return call.op->make_kernel ? call.op->make_kernel(call, plan) : call.op->reference(call);
}

std::unique_ptr<Kernel> MakeReference(const OpCall& call) {
  return Converts(call) ? WithConversions(call, call.op->reference(InF32(call)))
                        : call.op->reference(call);
}

int64_t ReferenceScratchBytes(const OpCall& call) {
  return Converts(call) ? ConversionBytes(call) : 0;
}

Cost CostOf(const OpCall& call) {
  Cost cost;
  for (const Shape& shape : call.operands)
    cost.bytes_read += static_cast<double>(shape.bytes()) * CopiesPerOperand(call);
  double elements = 0;
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (!call.needed[i]) continue;
    cost.bytes_written += static_cast<double>(call.results[i].bytes());
    elements += static_cast<double>(call.results[i].num_elements());
  }
  if (call.op->cost) {
    call.op->cost(call, cost);
  } else {
    cost.vector_flops = elements * call.op->element_flops;
    cost.transcendentals = elements * call.op->element_transcendentals;
  }
  return cost;
}

Cost CostOf(const OpCall& call, const KernelPlan& plan) {
  Cost cost = CostOf(call);
  cost.bytes_read += static_cast<double>(plan.copied_bytes);
  cost.bytes_written += static_cast<double>(plan.copied_bytes);
  return cost;
}

void CostOfMove(const OpCall&, Cost&) {}

}  // namespace tpurun
