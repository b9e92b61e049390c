// Chains of element-wise steps on arrays: the value x of an element goes from step to step in a
// vector register.
#ifndef TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_H_
#define TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_H_

#include <array>
#include <cstdint>

#include "runtime/base/chain_op.h"

namespace tpurun::elementwise {

struct ChainStep {
  enum Kind : uint8_t {
    kLoad,     // x = the array's element
    kCompute,  // x = op(x, y); y, if the op has two operands: the array's element
    kRound,    // rounds x to bf16 (BFloat16Bits)
    kStore,    // the array's element = x; of bf16: rounded
    kEnd,      // the last step of a chain
  };
  enum Numbers : uint8_t { kF32, kBF16, kScalar };  // kScalar: one f32 is every element; not stored

  Kind kind = kEnd;
  ChainOp op = ChainOp::kNone;  // of kCompute
  bool swaps = false;           // of kCompute: x = op(y, x)
  Numbers numbers = kF32;       // of the array
  bool prefetches = false;      // the array may be in no cache
  bool is_rounded = false;      // of kStore to bf16: x is what kRound makes, or 0 or -x of that
};

// A step for the instruction set of a `Chains`.
struct ChainCall {
  std::array<void (*)(), 3> functions;  // of eight vectors, of one, and of one element
  const void* data;                     // the array; of kStore it is written to
};

struct Chains {
  ChainCall (*call)(const ChainStep& step);
  // Runs the calls from `chain` to that of kEnd over n elements. A few vectors go through all calls
  // before the next ones begin, so that an array that is written may be one that is read before or
  // after it in the chain if both begin at one address and have numbers of one size. The same bits
  // on every instruction set, but for those of a NaN.
  void (*run)(const ChainCall* chain, int64_t n);
};

extern const Chains kPlainChains;
extern const Chains kAvx2Chains;
extern const Chains kAvx512Chains;          // F, BW, DQ and VL
extern const Chains kAvx512BFloat16Chains;  // and AVX512_BF16

}  // namespace tpurun::elementwise

#endif  // TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_H_
