// A choice between a value and 0 in loops over f32 or bf16 numbers.
#ifndef TPURUN_RUNTIME_OPS_VALUE_IF_H_
#define TPURUN_RUNTIME_OPS_VALUE_IF_H_

#include <cstdint>

namespace tpurun {

inline float ValueIf(bool chosen, float value) { return chosen ? value : 0; }
// Of bf16 bits, by a mask. For a choice the compiler would want loads under a mask, which AVX2 does
// not have for 16-bit numbers, and make no vector loop.
inline uint16_t ValueIf(bool chosen, uint16_t value) {
  return value & static_cast<uint16_t>(-int{chosen});
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_VALUE_IF_H_
