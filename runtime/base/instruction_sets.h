// The instruction sets of the processor. Nothing else asks the processor for them.
#ifndef TPURUN_RUNTIME_BASE_INSTRUCTION_SETS_H_
#define TPURUN_RUNTIME_BASE_INSTRUCTION_SETS_H_

#include <sys/syscall.h>
#include <unistd.h>

namespace tpurun {

struct InstructionSets {
  bool crc32c = false;       // SSE 4.2 and PCLMULQDQ
  bool avx2 = false;         // with FMA
  bool avx512 = false;       // F, BW, DQ and VL, as x86-64-v4
  bool avx512_bf16 = false;  // only together with avx512
  bool amx_bf16 = false;  // only together with avx512_bf16, and where Linux permits tile registers

  // With TPURUN_NO_AVX512 (`bazel --config=avx2`) the program treats every processor as one without
  // AVX-512. May be called before main, by initializers.
  static InstructionSets OfThisProcessor() {
    __builtin_cpu_init();
    InstructionSets sets;
    sets.crc32c = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
    sets.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#ifndef TPURUN_NO_AVX512
    sets.avx512 = sets.avx2 && __builtin_cpu_supports("avx512f") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    sets.avx512_bf16 = sets.avx512 && __builtin_cpu_supports("avx512bf16");
#if defined(__clang__)  // clang 14, which tools/fuzz uses, does not know the feature
    sets.amx_bf16 = false;
#else
    sets.amx_bf16 = sets.avx512_bf16 && __builtin_cpu_supports("amx-tile") &&
                    __builtin_cpu_supports("amx-bf16") && MayUseTileRegisters();
#endif
#endif
    return sets;
  }

 private:
  // Asks Linux for the process (Documentation/arch/x86/xstate.rst), once.
  static bool MayUseTileRegisters() {
    constexpr int kRequestPermission = 0x1023, kTileData = 18;
    static const bool may = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return may;
  }
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_INSTRUCTION_SETS_H_
