// Functions compiled for several instruction sets. The best version is chosen when the program
// starts.
#ifndef TPURUN_RUNTIME_BASE_CLONES_H_
#define TPURUN_RUNTIME_BASE_CLONES_H_

#include "runtime/base/instruction_sets.h"

// target_clones chooses before the thread sanitizer's runtime is ready, and the program then
// crashes. Builds with that sanitizer (.bazelrc) therefore define TPURUN_NO_CLONES. clang 14, which
// tools/fuzz uses, cannot clone templates.
#if defined(TPURUN_NO_CLONES) || defined(__clang__)
#define TPURUN_CLONES
#elif defined(TPURUN_NO_AVX512)
#define TPURUN_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
// The levels of the x86-64 ABI are chosen by the features of the processor. A processor's name
// would be compared with the name of this processor: "arch=haswell" is chosen on a Haswell only.
#define TPURUN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

namespace tpurun {

// The same for a loop in a template, to which target_clones cannot be applied. Works in every
// build: the choice is made at the call. `loop` is a lambda without arguments, marked
// always_inline.
enum class InstructionSet { kPlain, kAvx2, kAvx512 };

inline InstructionSet BestInstructionSet() {
  const InstructionSets sets = InstructionSets::OfThisProcessor();
  return sets.avx512 ? InstructionSet::kAvx512
         : sets.avx2 ? InstructionSet::kAvx2
                     : InstructionSet::kPlain;
}
inline const InstructionSet kBestInstructionSet = BestInstructionSet();

template <typename Loop>
[[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]] void RunWithAvx512(
    const Loop& loop) {
  loop();
}

template <typename Loop>
[[gnu::target("avx2,fma")]] void RunWithAvx2(const Loop& loop) {
  loop();
}

// The processor must have `set`.
template <typename Loop>
void RunWith(InstructionSet set, const Loop& loop) {
  switch (set) {
    case InstructionSet::kAvx512:
#ifdef __SANITIZE_ADDRESS__
      // With detect_stack_use_after_return, GCC 12 reads variables of functions with 64-byte
      // vectors from the wrong place.
      return RunWithAvx2(loop);
#else
      return RunWithAvx512(loop);
#endif
    case InstructionSet::kAvx2:
      return RunWithAvx2(loop);
    case InstructionSet::kPlain:
      return loop();
  }
}

template <typename Loop>
void RunCloned(const Loop& loop) {
  RunWith(kBestInstructionSet, loop);
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_CLONES_H_
