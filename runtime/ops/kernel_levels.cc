#include "runtime/ops/kernel_levels.h"

#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

struct NamedLevel {
  KernelLevel level;
  const char* name;
  bool (*runs_on)(const Machine& machine);
};
constexpr NamedLevel kLevels[] = {
    {KernelLevel::kAmxBFloat16, "_amx_bf16",
     [](const Machine& machine) { return machine.amx_bf16; }},
    {KernelLevel::kAvx512BFloat16, "_avx512_bf16",
     [](const Machine& machine) { return machine.avx512_bf16; }},
    {KernelLevel::kAvx512, "_avx512", [](const Machine& machine) { return machine.avx512; }},
    {KernelLevel::kAvx2, "_avx2", [](const Machine& machine) { return machine.avx2; }},
    {KernelLevel::kPlain, "_plain", [](const Machine&) { return true; }}};

}  // namespace

std::vector<KernelDef> KernelsOfLevels(
    const std::string& name, KernelLevel most,
    std::function<std::optional<KernelOffer>(const OpCall& call, KernelLevel level)> offer,
    std::function<std::unique_ptr<Kernel>(const OpCall& call, KernelLevel level)> make) {
  std::vector<KernelDef> kernels;
  for (const NamedLevel& of : kLevels) {
    if (of.level > most) continue;
    kernels.push_back(
        {.name = absl::StrCat(name, of.name),
         .offer = [offer, of](const OpCall& call,
                              const Machine& machine) -> std::optional<KernelOffer> {
           return of.runs_on(machine) ? offer(call, of.level) : std::nullopt;
         },
         .make = [make, of](const OpCall& call, const KernelOffer&) -> std::unique_ptr<Kernel> {
           return of.runs_on(Machine::This()) ? make(call, of.level) : nullptr;
         }});
  }
  return kernels;
}

}  // namespace tpurun
