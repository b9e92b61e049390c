// The operations that a chain of element-wise steps computes in vector registers
// (runtime/kernels/elementwise/chain.h).
#ifndef TPURUN_RUNTIME_BASE_CHAIN_OP_H_
#define TPURUN_RUNTIME_BASE_CHAIN_OP_H_

#include <cstdint>

namespace tpurun {

// Of f32 x and y, each one IEEE operation or a choice.
enum class ChainOp : uint8_t {
  kNone,           // no step of a chain
  kAdd,            // x + y
  kSubtract,       // x - y
  kMultiply,       // x * y
  kDivide,         // x / y
  kWherePositive,  // x where y > 0, else 0
  kNegate,         // -x
  kSquare,         // x * x
  kSquareRoot,     // the square root of x
  kRelu,           // x where x > 0 or x is NaN, else 0
};

// The last one.
inline constexpr ChainOp kLastChainOp = ChainOp::kRelu;

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_CHAIN_OP_H_
