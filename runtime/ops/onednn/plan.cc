#include "runtime/ops/onednn/plan.h"

#include <memory>
#include <optional>

#include "runtime/ops/onednn/onednn.h"
#include "runtime/ops/precision.h"

namespace tpurun {
namespace {

// True if a call gets bf16 parts in bf16. Others get them in f32.
bool MultipliesBF16(const OpCall& call, const Machine& machine) {
  return PrecisionOf(call.attrs) != Precision::kF32 && machine.avx512_bf16;
}

// The library reads and writes bf16 itself only at DEFAULT.
bool TakesStored(const OpCall& call, bool takes_bf16) {
  for (const auto* shapes : {&call.operands, &call.results}) {
    for (const Shape& shape : *shapes) {
      if (shape.dtype == DType::kBF16 && !takes_bf16) return false;
    }
  }
  return true;
}

std::optional<KernelOffer> Offer(const LibraryCall& library, bool bf16, const OpCall& call) {
  const Precision precision = PrecisionOf(call.attrs);
  const bool takes_bf16 = precision == Precision::kDefault && bf16;
  if (!TakesStored(call, takes_bf16)) return std::nullopt;
  try {
    UseOneThread();
    const CallSteps steps = library.make(bf16);
    KernelOffer offer{.scratch_bytes = steps.scratch_bytes,
                      .native_bf16 = takes_bf16,
                      .copied_bytes = steps.copied_bytes * call.parts,
                      .library_kernel = steps.library_kernel};
    if (!steps.weights.plain() && (takes_bf16 || precision == Precision::kF32)) {
      offer.best_operands = call.operands;
      offer.best_operands[1].dtype = takes_bf16 ? DType::kBF16 : DType::kF32;
      offer.best_operands[1].layout = steps.weights;
    } else if (!call.operands[1].layout.plain()) {
      offer.best_operands = call.operands;
    }
    return offer;
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<KernelDef> LibraryKernels(const std::function<LibraryCall(const OpCall& call)>& of) {
  std::vector<KernelDef> kernels;
  for (const bool bf16 : {true, false}) {
    kernels.push_back(
        {.name = bf16 ? kLibraryBF16 : kLibraryF32,
         .is_library = true,
         .multiplies_bf16 = bf16,
         .offer = [of, bf16](const OpCall& call,
                             const Machine& machine) -> std::optional<KernelOffer> {
           if (!machine.avx2 || bf16 != MultipliesBF16(call, machine)) return std::nullopt;
           const LibraryCall library = of(call);
           const bool is_worth = library.multiply_adds >= kLibraryMultiplyAdds;
           if (!is_worth && machine.kernels != KernelChoice::kLibrary) return std::nullopt;
           return Offer(library, bf16, call);
         },
         .make = [of, bf16](const OpCall& call, const KernelOffer&) -> std::unique_ptr<Kernel> {
           try {
             UseOneThread();
             return KernelOfSteps(of(call).make(bf16));
           } catch (const dnnl::error&) {
             return nullptr;
           }
         }});
  }
  return kernels;
}

}  // namespace tpurun
