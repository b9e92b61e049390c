#include "runtime/ir/machine.h"

#include "runtime/base/instruction_sets.h"

namespace tpurun {
namespace {

struct NamedChoice {
  KernelChoice value;
  std::string_view name;
};
constexpr NamedChoice kChoices[] = {{KernelChoice::kFastest, "fastest"},
                                    {KernelChoice::kReference, "reference"},
                                    {KernelChoice::kLibrary, "library"},
                                    {KernelChoice::kOwn, "own"}};

}  // namespace

Machine Machine::This() {
  const InstructionSets sets = InstructionSets::OfThisProcessor();
  return {.avx2 = sets.avx2,
          .avx512 = sets.avx512,
          .avx512_bf16 = sets.avx512_bf16,
          .amx_bf16 = sets.amx_bf16};
}

std::optional<Machine> Machine::Parse(std::string_view text) {
  for (Machine machine : {Machine{}, Machine{true}, Machine{true, true}, Machine{true, true, true},
                          Machine{true, true, true, true}}) {
    for (const NamedChoice& choice : kChoices) {
      machine.kernels = choice.value;
      if (machine.ToString() == text) return machine;
    }
  }
  return std::nullopt;
}

std::string Machine::ToString() const {
  const std::string_view sets = amx_bf16      ? "x86_64+amx_bf16"
                                : avx512_bf16 ? "x86_64+avx512_bf16"
                                : avx512      ? "x86_64+avx512"
                                : avx2        ? "x86_64+avx2"
                                              : "x86_64";
  std::string text(sets);
  if (kernels != KernelChoice::kFastest) text.append(" kernels=").append(Name(kernels));
  return text;
}

std::string_view Name(KernelChoice choice) {
  for (const NamedChoice& named : kChoices) {
    if (named.value == choice) return named.name;
  }
  return "";
}

std::optional<KernelChoice> KernelChoiceOf(std::string_view name) {
  for (const NamedChoice& named : kChoices) {
    if (named.name == name) return named.value;
  }
  return std::nullopt;
}

}  // namespace tpurun
