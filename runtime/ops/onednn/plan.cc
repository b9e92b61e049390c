#include "runtime/ops/onednn/plan.h"

#include <string>

#include "runtime/ops/onednn/onednn.h"
#include "runtime/ops/precision.h"

namespace tpurun {
namespace {

constexpr char kBf16[] = "onednn_bf16";
constexpr char kF32[] = "onednn_f32";

}  // namespace

KernelPlan PlanByTrying(const OpCall& call, const Machine& machine, double multiply_adds,
                        const MakeSteps& make) {
  // No other kernel reads packed weights.
  KernelPlan refused;
  if (!call.operands[1].layout.plain()) refused.implementation = "none";
  if (multiply_adds < kLibraryMultiplyAdds || !machine.avx2) return refused;
  const Precision precision = PrecisionOf(call.attrs);
  KernelPlan plan;
  plan.implementation = precision != Precision::kF32 && machine.avx512_bf16 ? kBf16 : kF32;
  const bool takes_bf16 = precision == Precision::kDefault && plan.implementation == kBf16;
  for (const auto* shapes : {&call.operands, &call.results}) {
    for (const Shape& shape : *shapes) {
      if (shape.dtype == DType::kBF16 && !takes_bf16) return refused;
    }
  }
  try {
    UseOneThread();
    const CallSteps steps = make(plan.implementation == kBf16);
    plan.scratch_bytes = steps.scratch_bytes;
    plan.copied_bytes = steps.copied_bytes * call.parts;
    plan.library_kernel = steps.library_kernel;
    plan.native_bf16 = takes_bf16;
    if (!steps.weights.plain() && (takes_bf16 || precision == Precision::kF32)) {
      plan.best_operands = call.operands;
      plan.best_operands[1].dtype = takes_bf16 ? DType::kBF16 : DType::kF32;
      plan.best_operands[1].layout = steps.weights;
    } else if (!call.operands[1].layout.plain()) {
      plan.best_operands = call.operands;
    }
  } catch (const dnnl::error&) {
    return refused;
  }
  return plan;
}

std::unique_ptr<Kernel> MakeByPlan(const OpCall& call, const KernelPlan& plan,
                                   const MakeSteps& make) {
  if (plan.implementation == "reference") return call.op->reference(call);
  if (plan.implementation != kBf16 && plan.implementation != kF32) return nullptr;
  try {
    UseOneThread();
    return KernelOfSteps(make(plan.implementation == kBf16));
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace tpurun
