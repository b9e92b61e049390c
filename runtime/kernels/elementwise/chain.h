// Chains of element-wise operations on arrays: a step takes the value of the step before it, which
// stays in vector registers.
#ifndef TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_H_
#define TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_H_

#include <cstdint>

#include "runtime/base/chain_op.h"

namespace tpurun::elementwise {

struct Array {
  const void* data = nullptr;
  bool is_bf16 = false;  // else f32
  bool streams = false;  // of the call, perhaps in no cache: prefetched
};

struct ChainStep {
  ChainOp op = ChainOp::kNone;  // of x, the value of the chain, and y, an array
  bool swaps = false;           // x and y change places
  bool rounds = false;          // rounds the value to bf16 (BFloat16Bits)
  Array y;                      // no data: the op has one operand
  // Where the value is stored, if anywhere. An array that is read later, by this chain or another
  // one, may have that memory only if it begins there, has numbers of that size, and either this
  // value or one that is not needed any more.
  float* to = nullptr;
  uint16_t* to_bf16 = nullptr;  // rounded
  bool streams = false;         // of an Array, for `to_bf16`, or for `to` without it
};

struct Chain {
  Array first;  // the value of the chain before the first step
  const ChainStep* steps = nullptr;
  int count = 0;
};

// Runs a chain over n elements. The same bits on every instruction set, but for those of a NaN.
using RunChain = void (*)(const Chain& chain, int64_t n);
void RunChainPlain(const Chain& chain, int64_t n);
void RunChainAvx2(const Chain& chain, int64_t n);
void RunChainAvx512(const Chain& chain, int64_t n);          // F, BW, DQ and VL
void RunChainAvx512BFloat16(const Chain& chain, int64_t n);  // and AVX512_BF16

}  // namespace tpurun::elementwise

#endif  // TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_H_
