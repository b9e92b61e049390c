// Functions compiled for several instruction sets, the best chosen when the program starts.
#ifndef TPURUN_RUNTIME_BASE_CLONES_H_
#define TPURUN_RUNTIME_BASE_CLONES_H_

// The choice runs before the thread sanitizer is ready, which then crashes: its builds (.bazelrc)
// define TPURUN_NO_CLONES. clang 14, of tools/fuzz, cannot clone templates.
#if defined(TPURUN_NO_CLONES) || defined(__clang__)
#define TPURUN_CLONES
#else
// The levels of the x86-64 ABI, chosen by what the processor has; the name of a processor would be
// compared with the processor's own: "arch=haswell" is chosen on a Haswell only.
#define TPURUN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

#endif  // TPURUN_RUNTIME_BASE_CLONES_H_
