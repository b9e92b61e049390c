#include "runtime/ir/op_def.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
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

bool MayUse(const KernelDef& kernel, KernelChoice choice) {
  if (choice == KernelChoice::kReference) return &kernel == &ReferenceKernel();
  return choice != KernelChoice::kOwn || !kernel.is_library;
}

std::optional<KernelOffer> OfferOf(const KernelDef& kernel, const OpCall& call,
                                   const Machine& machine) {
  if (!MayUse(kernel, machine.kernels)) return std::nullopt;
  if (kernel.offer) return kernel.offer(call, machine);
  const auto plain = [](const Shape& operand) { return operand.layout.plain(); };
  // An op without kernels of its own moves packed operands as they are.
  const bool any_layout = call.op->kernels.empty();
  if (!any_layout && !std::all_of(call.operands.begin(), call.operands.end(), plain))
    return std::nullopt;
  return KernelOffer{};
}

// For the values as they are stored.
KernelPlan FirstOffer(const OpCall& call, const Machine& machine) {
  KernelPlan plan;
  const auto ask = [&](const KernelDef& kernel) {
    std::optional<KernelOffer> offer = OfferOf(kernel, call, machine);
    if (!offer) return false;
    static_cast<KernelOffer&>(plan) = *std::move(offer);
    plan.kernel = &kernel;
    return true;
  };
  std::any_of(call.op->kernels.begin(), call.op->kernels.end(), ask) || ask(ReferenceKernel());
  return plan;
}

// True if the op has f32 values and an operand or result 0 is bf16.
bool Converts(const OpCall& call) {
  return !call.op->flags.any_dtype && !call.op->flags.source && HasBF16(call);
}

}  // namespace

const KernelDef& ReferenceKernel() {
  static const KernelDef& kernel = *new KernelDef{
      .name = "reference", .any_share = true, .make = [](const OpCall& call, const KernelOffer&) {
        return call.op->reference(call);
      }};
  return kernel;
}

const KernelDef* FindKernel(const OpDef& op, std::string_view name) {
  for (const KernelDef& kernel : op.kernels) {
    if (kernel.name == name) return &kernel;
  }
  return name == ReferenceKernel().name ? &ReferenceKernel() : nullptr;
}

ReplicasOfCall ReplicasRead(const Attrs& attrs, int num_replicas) {
  if (!attrs.Has(kOfReplicas)) return {0, num_replicas};
  const std::vector<int64_t> range = attrs.Ints(kOfReplicas);
  TPURUN_DCHECK(range.size() == 2 && range[0] + range[1] <= num_replicas);
  return {static_cast<int>(range[0]), static_cast<int>(range[1])};
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
  KernelPlan plan = FirstOffer(call, machine);
  if (Converts(call) && !plan.native_bf16) {
    plan = FirstOffer(InF32(call), machine);
    plan.native_bf16 = false;
    plan.converts_bf16 = true;
    plan.scratch_bytes += ConversionBytes(call);
    plan.copied_bytes += ConvertedBytes(call);
    for (size_t i = 0; i < plan.best_operands.size(); ++i) {
      // Weights in bf16 would be converted, too.
      if (call.operands[i].dtype == DType::kBF16 || plan.best_operands[i].dtype == DType::kBF16)
        plan.best_operands[i] = call.operands[i];
    }
  }
  // best_operands is empty or has an entry for each operand.
  TPURUN_DCHECK(plan.best_operands.empty() || plan.best_operands.size() == call.operands.size());
  TPURUN_DCHECK(plan.scratch_bytes >= 0);
  return plan;
}

std::unique_ptr<Kernel> MakeKernel(const OpCall& call, const KernelPlan& plan) {
  if (plan.kernel == nullptr) return nullptr;
  if (!plan.converts_bf16) return plan.kernel->make(call, plan);
  std::unique_ptr<Kernel> f32 = plan.kernel->make(InF32(call), plan);
  return f32 == nullptr ? nullptr : WithConversions(call, std::move(f32));
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

Cost CostOf(const OpCall& call, const KernelOffer& offer) {
  Cost cost = CostOf(call);
  cost.bytes_read += static_cast<double>(offer.copied_bytes);
  cost.bytes_written += static_cast<double>(offer.copied_bytes);
  return cost;
}

void CostOfMove(const OpCall&, Cost&) {}

}  // namespace tpurun
