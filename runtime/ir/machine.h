// The machine that a program is compiled for.
#ifndef TPURUN_RUNTIME_IR_MACHINE_H_
#define TPURUN_RUNTIME_IR_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tpurun {

// The kernels that a program may have, to test and to compare them.
enum class KernelChoice : uint8_t {
  kFastest,    // the first kernel of OpDef::kernels that offers the call
  kReference,  // only the plain loops of OpDef::reference
  kLibrary,    // a library's kernels wherever they compute the call, even where others are faster
  kOwn,        // no library's kernels
};

// The instruction sets of the machine that a program is compiled for, and the kernels that it may
// have. Programs and checkpoints record its text.
struct Machine {
  bool avx2 = false;
  bool avx512 = false;       // includes avx2
  bool avx512_bf16 = false;  // includes avx512
  bool amx_bf16 = false;     // includes avx512_bf16
  KernelChoice kernels = KernelChoice::kFastest;

  static Machine This();
  // Parses the output of ToString.
  static std::optional<Machine> Parse(std::string_view text);
  // "x86_64", "x86_64+avx2", "x86_64+avx512", "x86_64+avx512_bf16" or "x86_64+amx_bf16", then
  // " kernels=reference", " kernels=library" or " kernels=own" if not all may be used.
  std::string ToString() const;
};

// "fastest", "reference", "library", "own", and back.
std::string_view Name(KernelChoice choice);
std::optional<KernelChoice> KernelChoiceOf(std::string_view name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_MACHINE_H_
