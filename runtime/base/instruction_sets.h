// What the processor can do: the only place that asks it, but for io/crc32c.cc, which needs no AVX.
#ifndef TPURUN_RUNTIME_BASE_INSTRUCTION_SETS_H_
#define TPURUN_RUNTIME_BASE_INSTRUCTION_SETS_H_

namespace tpurun {

struct InstructionSets {
  bool avx2 = false;         // with FMA
  bool avx512 = false;       // F, BW, DQ and VL: x86-64-v4
  bool avx512_bf16 = false;  // with avx512

  // TPURUN_NO_AVX512 (`bazel --config=avx2`) makes a program that treats every processor as one
  // without AVX-512. It may be called before main, by initializers.
  static InstructionSets OfThisProcessor() {
    __builtin_cpu_init();
    InstructionSets sets;
    sets.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#ifndef TPURUN_NO_AVX512
    sets.avx512 = sets.avx2 && __builtin_cpu_supports("avx512f") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    sets.avx512_bf16 = sets.avx512 && __builtin_cpu_supports("avx512bf16");
#endif
    return sets;
  }
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_INSTRUCTION_SETS_H_
